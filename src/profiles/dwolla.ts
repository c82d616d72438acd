import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Dwolla: keys are kept for 24 hours, a replay is 201 like the first answer. A key in progress answers 409 without a code
 * that is known here, which the default table retries.
 *
 * @see https://developers.dwolla.com/docs/idempotency
 */
export const dwolla: Profile = defineProfile({ name: "dwolla", methods: ["POST"], retention: "24h" });
