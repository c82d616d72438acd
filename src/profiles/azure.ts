import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Azure services that keep to Repeatable Requests: a key, and the time at which it was first sent, the same on every
 * attempt. Kept for five minutes at least; where a service promises more, pass `retention`. A 5xx is run again, 412 says
 * that the window is over, 501 that the service knows no such thing. Which 400 speaks of another body is not told.
 *
 * @see https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md
 */
export const azure: Profile = defineProfile({
  name: "azure",
  header: "repeatability-request-id",
  firstSentHeader: "repeatability-first-sent",
  retention: "5m",
  answers: [{ status: 412, means: "key_expired" }],
});
