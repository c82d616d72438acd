import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Coinbase CDP: keys have to be UUIDs of version 4, so that `key: "from-intent"` (version 5) cannot be used. 409
 * `already_exists` stands for a key in progress and for much else: retried for a bounded time.
 *
 * @see https://docs.cdp.coinbase.com/api-reference/v2/idempotency
 */
export const coinbase: Profile = defineProfile({
  name: "coinbase",
  header: "x-idempotency-key",
  key: "v4",
  keyFormat: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i,
  retention: "24h",
  answers: [{ status: 422, code: "idempotency_error", means: "key_reused" }],
});
