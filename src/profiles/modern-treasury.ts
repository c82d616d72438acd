import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Modern Treasury: a key belongs to the API key, whatever the route, and another route under it replays the first result:
 * use none of your own twice. Only successes are stored. A key in progress answers 409, which the default table retries.
 *
 * @see https://docs.moderntreasury.com/platform/reference/idempotent-requests
 */
export const modernTreasury: Profile = defineProfile({ name: "modern-treasury", methods: ["POST"], retention: "24h" });
