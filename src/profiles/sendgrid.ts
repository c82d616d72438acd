import type { Profile } from "../core/profile.js";
import { withoutKeys } from "./without-keys.js";

/**
 * SendGrid deduplicates nothing: a write is sent again only while it provably was not sent, or was turned away by a limit.
 *
 * @see https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/rate-limits
 */
export const sendgrid: Profile = withoutKeys({ name: "sendgrid" });
