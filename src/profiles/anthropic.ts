import type { Profile } from "../core/profile.js";
import { withoutKeys } from "./without-keys.js";

/**
 * Anthropic deduplicates nothing: a write is sent again only while it provably was not sent, or was turned away by a limit.
 *
 * @see https://docs.anthropic.com/en/api/rate-limits
 */
export const anthropic: Profile = withoutKeys({
  name: "anthropic",
  keepHeaders: ["anthropic-version", "anthropic-beta"],
});
