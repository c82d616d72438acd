import { parseRetryAfter } from "../../../core/retry-after.js";
import { ending, type Finding, firstOf } from "../check.js";
import {
  type Answered,
  answersTo,
  isAnswered,
  isMarked,
  isMarkedExecuted,
  isSame,
  isSuccess,
  latest,
  type Seen,
  shown,
  verdictOf,
} from "../observation.js";

/** What becomes of requests under one key at the same time. */
export function atOnce(seen: Seen, now: number): Finding {
  const burst = answersTo(seen, "burst");
  const after = latest(seen, "after-burst");
  const asked = seen.get("burst")?.length ?? 0;
  if (asked === 0 || burst.length === 0) return ["not-seen", ending(seen)];
  const done = burst.filter((one) => isSuccess(one) || isMarked(one));
  const [winner] = done;
  if (done.filter(isMarkedExecuted).length > 1 || (winner && done.some((one) => !isSame(one, winner)))) {
    return [
      "broken",
      `${asked} requests at once under one key got different answers: it was carried out more than once`,
    ];
  }
  if (burst.length < asked) return ["not-seen", ending(seen)];
  if (winner && isAnswered(after) && isSuccess(after) && !isSame(after, winner)) {
    return ["broken", "after requests at once under one key, a repeat gets an answer that none of them got"];
  }
  const first = firstOf(seen);
  if (done.length > 1 && winner && first && !isMarked(winner) && isSame(winner, first)) {
    return ["not-seen", "every key gets the same answer, which does not tell how often it was carried out"];
  }
  const busy = burst.filter(({ status }) => status === 409);
  const others = burst.filter((one) => !done.includes(one) && one.status !== 409);
  if (others.length > 0) {
    return [
      "differs",
      `of ${asked} requests at once under one key some were answered ${statuses(others)} instead of 409`,
    ];
  }
  if (isAnswered(after) && after.status === 409 && !isMarked(after)) {
    return ["not-seen", "the key was still in progress when the doctor stopped asking"];
  }
  if (busy.length === 0) {
    return [
      "kept",
      `${asked} requests at once under one key get one answer: the others wait, or it is over too soon for a 409`,
    ];
  }
  const isBare = busy.some((one) => {
    const verdict = verdictOf(one, now);
    return verdict.kind === "retry" && verdict.conflict === true;
  });
  if (isBare) {
    return [
      "differs",
      "a key in progress is answered 409 with neither Retry-After nor a code: retried for a minute, then blocked",
    ];
  }
  return ["kept", `of ${asked} requests at once under one key one is carried out, the others get 409 or its answer`];
}

/** The form of `Retry-After`, wherever it stood. */
export function retryAfter(seen: Seen, now: number): Finding {
  const all = [...seen.keys()].flatMap((name) => answersTo(seen, name));
  const malformed = all.find((one) => one.headers.get("retry-after") !== null && waitOf(one, now) === undefined);
  if (malformed) {
    return [
      "differs",
      `Retry-After is ${shown(malformed.headers.get("retry-after") ?? "")}, neither seconds nor an HTTP-date: ignored`,
    ];
  }
  const wanting = all.filter(({ status }) => [409, 429, 503].includes(status)).filter((one) => !isMarked(one));
  if (wanting.length === 0) return ["not-seen", "no answer called for one (409, 429, 503)"];
  const without = wanting.filter((one) => waitOf(one, now) === undefined);
  if (without.length > 0) return ["differs", `${statuses(without)} comes without Retry-After`];
  return ["kept", `${statuses(wanting)} says with Retry-After when to come again`];
}

const waitOf = ({ headers }: Answered, now: number): number | undefined => parseRetryAfter(headers, now);

const statuses = (answers: readonly Answered[]): string =>
  [...new Set(answers.map(({ status }) => status))].sort((a, b) => a - b).join(", ");
