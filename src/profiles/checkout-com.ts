import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Checkout.com: only the endpoints that its documentation lists deduplicate, and only successes are stored. Keys are kept
 * for 24 hours in production; where your account has another window, or in the sandbox, pass `retention`.
 *
 * A key in progress answers 409 without a code (429 in the past), which the default table retries.
 *
 * @see https://www.checkout.com/docs/developer-resources/api/idempotency
 */
export const checkoutCom: Profile = defineProfile({
  name: "checkout-com",
  header: "cko-idempotency-key",
  retention: "24h",
  dedupes: false,
  routes: [
    {
      path: /^\/(payment-contexts|transfers|payments(\/[^/]+\/(authorizations|cancellations|captures|refunds|voids))?)$/,
      methods: ["POST"],
      dedupes: true,
    },
  ],
  // In the past it was how a key in progress was told, so that it proves nothing.
  answers: [{ status: 429, means: "in_progress" }],
});
