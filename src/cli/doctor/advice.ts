import { type Check, firstOf } from "./check.js";
import { retentionOf } from "./checks/published.js";
import type { Seen } from "./observation.js";
import type { Target } from "./target.js";
import { resultOf } from "./verdict.js";

/** An option of `createSdk` that follows from what was seen. */
export interface Advice {
  /** As it stands in a program. */
  readonly code: string;
  readonly why: string;
}

/** Which options of `createSdk` (or of the operation) follow. */
export function advise(seen: Seen, checks: readonly Check[], target: Target): readonly Advice[] {
  return [retention(seen), discover(checks), profile(seen, checks, target)].filter((one) => one !== undefined);
}

function retention(seen: Seen): Advice {
  const seconds = Math.floor(retentionOf(seen) ?? 0);
  if (seconds < 1)
    return {
      code: 'retention: "…"',
      why: "how long keys are honoured cannot be seen from outside: the API's documentation says",
    };
  const text = seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`;
  return { code: `retention: "${text}"`, why: "as published, not measured" };
}

function discover(checks: readonly Check[]): Advice | undefined {
  if (resultOf(checks, "published") !== "kept") return undefined;
  return { code: "discover: true", why: "keeps to a shorter retention that the server comes to publish" };
}

function profile(seen: Seen, checks: readonly Check[], { url, keyHeader }: Target): Advice | undefined {
  const found = resultOf(checks, "dedupes");
  const isUnsafe = (firstOf(seen) !== undefined && found !== "kept") || resultOf(checks, "at-once") === "broken";
  const isCustom = keyHeader.toLowerCase() !== "idempotency-key";
  const isQuoted = seen.has("quoted-first") && resultOf(checks, "quoting") === "differs";
  const parts = [
    isCustom && `header: ${JSON.stringify(keyHeader)}`,
    isQuoted && "quoted: true",
    isUnsafe && "dedupes: false",
  ].filter((part) => part !== false);
  const reasons = [
    isCustom && "the key goes into another header",
    isQuoted && "keys are sent quoted",
    isUnsafe &&
      (found === "not-seen" ? "it was not seen to deduplicate" : "it does not deduplicate") +
        ": retried only while provably unsent",
  ].filter((part) => part !== false);
  if (parts.length === 0) return undefined;
  const why = reasons.join("; ");
  if (isQuoted && parts.length === 1) return { code: "profile: ietf", why: `${why} (from "samekey/profiles")` };
  return { code: `profile: { name: ${JSON.stringify(url.hostname)}, ${parts.join(", ")} }`, why };
}
