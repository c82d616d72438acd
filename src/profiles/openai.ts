import type { Answer, Verdict } from "../core/classify.js";
import type { Profile } from "../core/profile.js";
import { withoutKeys } from "./without-keys.js";

/** It may say of a limit that waiting does not help. */
function read({ status, speaks, headers }: Answer): Verdict | undefined {
  const isFinal = status === 429 && headers.get("x-should-retry") === "false";
  return isFinal ? { kind: "refused", speaks } : undefined;
}

/**
 * OpenAI deduplicates nothing: a write is sent again only while it provably was not sent, or was turned away by a limit. A
 * call that asks for a stream passes through. An answer may take ten minutes, which is what its own SDK allows.
 *
 * @see https://platform.openai.com/docs/guides/rate-limits
 * @see https://github.com/openai/openai-node
 */
export const openai: Profile = withoutKeys({
  name: "openai",
  streamField: "stream",
  attemptTimeout: "10m",
  keepHeaders: ["openai-organization", "openai-project"],
  read,
});
