import { type Answered, isAnswered, isMarked, isSuccess, latest, type Observation, type Seen } from "./observation.js";

/**
 * How one part of the contract was found: `kept`; `differs`, in a way that costs no effect; `broken`, in a way that may;
 * `not-seen`, about which nothing is claimed.
 */
export type CheckResult = "kept" | "differs" | "broken" | "not-seen";

/** The parts of the contract, in the order in which they are told. */
export type CheckName =
  | "dedupes"
  | "replay"
  | "replay-headers"
  | "marks"
  | "at-once"
  | "retry-after"
  | "other-body"
  | "without-key"
  | "quoting"
  | "problems"
  | "published"
  | "preflight"
  | "exposed";

/** One part of the contract, and how it was found. */
export interface Check {
  readonly name: CheckName;
  readonly result: CheckResult;
  /** A sentence for the reader. Of what is `kept`, what a client may rely on. */
  readonly detail: string;
}

/** A result with its sentence. */
export type Finding = readonly [CheckResult, string];

/** The first answer under the first key, where it is one that the rest can be measured against. */
export function firstOf(seen: Seen): Answered | undefined {
  const first = latest(seen, "first", "quoted-first");
  return isAnswered(first) && (isSuccess(first) || isMarked(first)) ? first : undefined;
}

/** Why there is nothing to judge by: where the plan ended. */
export function ending(seen: Seen): string {
  const first = latest(seen, "first", "quoted-first");
  if (!first) return "nothing was sent to the endpoint";
  if (!firstOf(seen)) return ofFirst(first);
  const names = ["repeat", "without-key", "burst", "after-burst", "later", "other-form", "other-body"] as const;
  for (const name of names) {
    const failed = seen.get(name)?.find((one) => one.kind === "failed");
    if (failed) return `it ended where no answer came (${name}: ${failed.cause})`;
  }
  if (!seen.has("without-key")) return "it ended at the repeat: whatever else is sent might be carried out as well";
  return "nothing showed it";
}

function ofFirst(first: Observation): string {
  if (!isAnswered(first)) {
    const fate = first.how === "unsent" ? "it was not sent" : "it may have been carried out";
    return `the first request got no answer (${first.cause}); ${fate}`;
  }
  const { status } = first;
  if (status >= 300 && status <= 399) {
    return `the first request was redirected (${status}), which is never followed: give the URL that it leads to`;
  }
  if (/^(401|403|407)$/.test(String(status))) {
    return `the first request was refused (${status}): give its credentials with --header`;
  }
  return `the first request was answered ${status}, in front of the key: give a request that succeeds`;
}
