import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Square: the key is a member of the body. Payments take 45 characters, so that this is the bound wherever nothing else is
 * known; orders take 192.
 *
 * Unverified: how long a key is kept (pass `retention`), and the answer to one in progress.
 *
 * @see https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency
 */
export const square: Profile = defineProfile({
  name: "square",
  bodyField: "idempotency_key",
  keyLength: 45,
  routes: [{ path: /^\/v2\/orders(\/|$)/, keyLength: 192 }],
  keepHeaders: ["square-version"],
  answers: [400, 409, 422].map((status) => ({ status, code: "IDEMPOTENCY_KEY_REUSED", means: "key_reused" as const })),
});
