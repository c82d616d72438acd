import type { Profile } from "../core/profile.js";
import { withoutKeys } from "./without-keys.js";

/**
 * Anthropic deduplicates nothing: a write is sent again only while it provably was not sent, or was turned away by a limit. A
 * call that asks for a stream passes through. An answer may take ten minutes, which is what its own SDK allows.
 *
 * @see https://docs.anthropic.com/en/api/rate-limits
 */
export const anthropic: Profile = withoutKeys({
  name: "anthropic",
  streamField: "stream",
  attemptTimeout: "10m",
  keepHeaders: ["anthropic-version", "anthropic-beta"],
});
