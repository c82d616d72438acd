import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Wise: the key is a UUID in the body of a transfer.
 *
 * Unverified: how long it is kept (pass `retention`), the answers to one in progress and to another body, and whether
 * anything but transfers takes it: those are retried only while provably unsent.
 *
 * @see https://docs.wise.com/api-reference/transfer
 */
export const wise: Profile = defineProfile({
  name: "wise",
  bodyField: "customerTransactionId",
  keyFormat: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  dedupes: false,
  routes: [{ path: /^\/v\d+\/transfers$/, methods: ["POST"], dedupes: true }],
});
