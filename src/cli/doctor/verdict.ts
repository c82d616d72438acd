import type { Check, CheckName, Finding } from "./check.js";
import { exposed, preflight } from "./checks/browser.js";
import { atOnce, retryAfter } from "./checks/burst.js";
import { published } from "./checks/published.js";
import { otherBody, problems, quoting, withoutKey } from "./checks/refusals.js";
import { dedupes, marks, replay, replayHeaders } from "./checks/replay.js";
import type { Seen } from "./observation.js";
import type { Target } from "./target.js";

/** All in all: `inconclusive` where it was not seen that a key is done once and replayed, and nothing is broken. */
export type Conclusion = "kept" | "broken" | "inconclusive";

/** Judges what was seen. Pure: the same observations are always judged alike. */
export function judge(seen: Seen, target: Target, now: number): readonly Check[] {
  const findings: Readonly<Record<CheckName, Finding>> = {
    dedupes: dedupes(seen),
    replay: replay(seen),
    "replay-headers": replayHeaders(seen),
    marks: marks(seen),
    "at-once": atOnce(seen, now),
    "retry-after": retryAfter(seen, now),
    "other-body": otherBody(seen, target, now),
    "without-key": withoutKey(seen, now),
    quoting: quoting(seen),
    problems: problems(seen),
    published: published(seen, target),
    preflight: preflight(seen, target),
    exposed: exposed(seen, target),
  };
  return Object.entries(findings).map(([name, [result, detail]]) => ({ name: name as CheckName, result, detail }));
}

/** What the checks come to. */
export function conclude(checks: readonly Check[]): Conclusion {
  if (checks.some(({ result }) => result === "broken")) return "broken";
  const needed: readonly CheckName[] = ["dedupes", "replay", "at-once"];
  const isKept = needed.every((name) => !["broken", "not-seen"].includes(resultOf(checks, name) ?? "not-seen"));
  return isKept ? "kept" : "inconclusive";
}

/** How one part was found. */
export const resultOf = (checks: readonly Check[], wanted: CheckName): Check["result"] | undefined =>
  checks.find(({ name }) => name === wanted)?.result;
