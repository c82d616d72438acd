import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * PayPal. How long a key is kept depends on the API; elsewhere pass `retention`. A repeated request answers with the
 * present state of what was created, 200 and not 201.
 *
 * Unverified: the longest key (38 is said), and the answer to another body.
 *
 * @see https://developer.paypal.com/api/rest/reference/idempotency/
 */
export const paypal: Profile = defineProfile({
  name: "paypal",
  header: "paypal-request-id",
  methods: ["POST"],
  routes: [
    { path: /^\/v3\/vault\//, retention: "3h" },
    { path: /^\/v2\/checkout\/orders(\/|$)/, retention: "6h" },
    { path: /^\/v1\/billing\/subscriptions(\/|$)/, retention: "72h" },
    { path: /^\/v1\/payments\/payouts(\/|$)/, retention: "30d" },
    { path: /^\/v2\/payments\//, retention: "45d" },
  ],
  answers: [{ status: 409, code: "PREVIOUS_REQUEST_IN_PROGRESS", means: "in_progress" }],
});
