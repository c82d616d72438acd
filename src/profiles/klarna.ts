import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Klarna: the initial result is replayed for 24 hours.
 *
 * Unverified: the answers to a key in progress and to another body.
 *
 * @see https://docs.klarna.com/api/
 */
export const klarna: Profile = defineProfile({
  name: "klarna",
  header: "klarna-idempotency-key",
  methods: ["POST", "PATCH"],
  retention: "24h",
});
