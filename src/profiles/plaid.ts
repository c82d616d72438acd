import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Plaid: the key is a member of the body, and only these endpoints take it. What was asked for may exist after a 500, and
 * the wallet wants a minute between two attempts. A bank transfer with other parameters is another transfer, whatever
 * its key.
 *
 * @see https://plaid.com/docs/api/
 * @see https://github.com/plaid/plaid-openapi
 */
export const plaid: Profile = defineProfile({
  name: "plaid",
  bodyField: "idempotency_key",
  keyLength: 50,
  dedupes: false,
  routes: [
    { path: /^\/transfer\/authorization\/create$/, retention: "48h", dedupes: true },
    { path: /^\/wallet\/transaction\/execute$/, retention: "24h", keyLength: 128, gap: "1m", dedupes: true },
    { path: /^\/bank_transfer\/create$/, retention: "7d", dedupes: true },
  ],
});
