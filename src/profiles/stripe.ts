import type { Answer, Verdict } from "../core/classify.js";
import type { Profile, ProfileRequest } from "../core/profile.js";
import { askAgain } from "./ask-again.js";
import { defineProfile } from "./define.js";

/** Of a replayed 500 Stripe says itself that it tells nothing, and under this key it stays a 500. */
function read(answer: Answer, request: ProfileRequest): Verdict | undefined {
  const { status, speaks, headers, after } = answer;
  const advice = headers.get("stripe-should-retry");
  if (status >= 500 && speaks) return { kind: "unresolved" };
  if (status >= 500 && advice === "false") return { kind: "unresolved" };
  if ((status >= 500 || status === 409) && advice === "true") return { kind: "retry", certain: false, after };
  return askAgain(answer, request);
}

/**
 * Stripe, v1 and v2. v1 keeps what it answered once execution had begun, a 500 included: that one is `unresolved`, and
 * webhooks or a look at the object tell what came of it. v2 runs failures again, and keeps keys for 30 days.
 *
 * Unverified: the code of a key in use (409 `idempotency_key_in_use`), which the default table knows; v2's own codes.
 *
 * @see https://docs.stripe.com/api/idempotent_requests
 * @see https://docs.stripe.com/api-v2-overview
 * @see https://docs.stripe.com/error-low-level
 */
export const stripe: Profile = defineProfile({
  name: "stripe",
  retention: "24h",
  methods: ["POST"],
  keyLength: 255,
  routes: [{ path: /^\/v2\//, methods: ["POST", "DELETE"], retention: "30d" }],
  keepHeaders: ["stripe-account", "stripe-context", "stripe-version"],
  ignoreHeaders: ["x-stripe-client-*"],
  replayHeaders: ["idempotent-replayed"],
  read,
  answers: [{ status: 400, code: "idempotency_error", means: "key_reused" }],
});
