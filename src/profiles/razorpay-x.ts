import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * RazorpayX payouts: the key is mandatory, and the first answer is stored. Another body under the same key answers 400
 * without a code that is known here: a refusal.
 *
 * Unverified: how long a key is kept (pass `retention`), and the answer to one in progress.
 *
 * @see https://razorpay.com/docs/api/x/payout-idempotency/
 */
export const razorpayX: Profile = defineProfile({
  name: "razorpay-x",
  header: "x-payout-idempotency",
  keyFormat: /^[A-Za-z\d_ -]{4,36}$/,
});
