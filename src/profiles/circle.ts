import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Circle: the key is a UUID of version 4 in the body, so that `key: "from-intent"` (version 5) cannot be used. 409 says
 * that it came with another body.
 *
 * Unverified: how long a key is kept (pass `retention`), and the answer to one in progress.
 *
 * @see https://developers.circle.com/w3s/docs/web3-services-idempotent-requests
 */
export const circle: Profile = defineProfile({
  name: "circle",
  bodyField: "idempotencyKey",
  key: "v4",
  keyFormat: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i,
  answers: [{ status: 409, means: "key_reused" }],
});
