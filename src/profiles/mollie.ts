import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Mollie: every answer is stored, for about an hour.
 *
 * Unverified: the answers to a key in progress and to another body.
 *
 * @see https://docs.mollie.com/reference/api-idempotency
 */
export const mollie: Profile = defineProfile({ name: "mollie", methods: ["POST", "DELETE"], retention: "1h" });
