import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * The expired IETF draft: a quoted key, 422 for another request under the same key, 400 without one.
 *
 * It leaves the retention to the server: pass `retention`. It gives 409 to a key in progress, but knows no code for it, so
 * that one without `Retry-After` is retried for a bounded time, as without a profile.
 *
 * @see draft-ietf-httpapi-idempotency-key-header-07
 */
export const ietf: Profile = defineProfile({
  name: "ietf",
  header: "idempotency-key",
  quoted: true,
  answers: [{ status: 422, means: "key_reused" }],
});
