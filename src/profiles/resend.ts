import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Resend: only `/emails` and `/emails/batch` take a key.
 *
 * @see https://resend.com/docs/dashboard/emails/idempotency-keys
 */
export const resend: Profile = defineProfile({
  name: "resend",
  retention: "24h",
  keyLength: 256,
  dedupes: false,
  routes: [{ path: /^\/emails(\/batch)?$/, methods: ["POST"], dedupes: true }],
  answers: [
    { status: 409, code: "concurrent_idempotent_requests", means: "in_progress" },
    { status: 409, code: "invalid_idempotent_request", means: "key_reused" },
    { status: 400, code: "invalid_idempotency_key", means: "key_missing" },
  ],
});
