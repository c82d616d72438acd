import { ending, type Finding, firstOf } from "../check.js";
import {
  type Answered,
  answersTo,
  isAnswered,
  isMarked,
  isMarkedExecuted,
  isMarkedReplay,
  isSame,
  isSuccess,
  latest,
  objectOf,
  type Seen,
  verdictOf,
} from "../observation.js";
import type { Target } from "../target.js";

/** Whether a key is bound to its request. */
export function otherBody(seen: Seen, { otherBody: other, meansOther }: Target, now: number): Finding {
  const answer = latest(seen, "other-body");
  if (!answer) return ["not-seen", other ? ending(seen) : "there is no body to change: give --body or --other-body"];
  if (!isAnswered(answer)) return ["not-seen", ending(seen)];
  if (isSuccess(answer) || isMarkedReplay(answer)) {
    const first = firstOf(seen);
    if (!first || !(isMarkedReplay(answer) || isSame(first, answer))) {
      return ["broken", "another body under a used key is carried out"];
    }
    return meansOther
      ? ["broken", "another body under a used key gets the first one's answer: a mistake in a program goes unseen"]
      : ["not-seen", "a body that differs in white space only counts as the same; --other-body tells more"];
  }
  const verdict = verdictOf(answer, now);
  if (verdict.kind === "misused" && verdict.code === "key_reused") {
    return ["kept", "another body under a used key is refused (422, with a code that says why)"];
  }
  if (answer.status === 422) return ["kept", "another body under a used key is refused (422)"];
  if (answer.status >= 400 && answer.status <= 499) {
    return [
      "differs",
      `another body under a used key is refused with ${answer.status} instead of 422, for that or for another reason`,
    ];
  }
  return ["not-seen", `another body under a used key was answered ${answer.status}`];
}

/** What becomes of a request that has no key. */
export function withoutKey(seen: Seen, now: number): Finding {
  const answer = latest(seen, "without-key");
  if (!isAnswered(answer)) return ["not-seen", ending(seen)];
  if (isSuccess(answer))
    return ["differs", "a request without a key is carried out: those who send none are not protected"];
  const verdict = verdictOf(answer, now);
  if (verdict.kind === "misused" && verdict.code === "key_missing") {
    return ["kept", "a request without a key is refused (400, with a code that says why)"];
  }
  if (answer.status === 400) return ["kept", "a request without a key is refused (400)"];
  return ["differs", `a request without a key is answered ${answer.status} instead of 400`];
}

/** Whether `abc` and `"abc"` are one key. */
export function quoting(seen: Seen): Finding {
  const first = firstOf(seen);
  const isQuoted = seen.has("quoted-first");
  const answer = latest(seen, "other-form");
  if (first && isQuoted)
    return ["differs", "a bare key is refused (400): keys are sent quoted, as the IETF draft has it"];
  if (!first || !isAnswered(answer)) return ["not-seen", ending(seen)];
  if (isMarkedExecuted(answer)) return ["differs", "bare and quoted are two keys: always send one form"];
  if (isMarkedReplay(answer)) return ["kept", "a key is the same bare and quoted"];
  if (isSuccess(answer) && !isSame(first, answer))
    return ["differs", "bare and quoted are two keys: always send one form"];
  // Where every key gets the same answer, this one says nothing either.
  const others = answersTo(seen, "burst", "after-burst").filter(isSuccess);
  if (isSuccess(answer)) {
    return others.some((one) => isSame(one, first))
      ? ["not-seen", "every key gets the same answer"]
      : ["kept", "a key is the same bare and quoted"];
  }
  return ["differs", `a quoted key is answered ${answer.status}: send keys bare`];
}

/** Whether the contract's own refusals can be read by programs. */
export function problems(seen: Seen): Finding {
  const own = answersTo(seen, "first", "without-key", "burst", "other-body").filter(isOwnRefusal);
  if (own.length === 0) return ["not-seen", "no refusal of the contract came"];
  const unreadable = own.filter((one) => !isProblem(one));
  if (unreadable.length === 0) return ["kept", "the contract's refusals are application/problem+json (RFC 9457)"];
  const types = [...new Set(unreadable.map(({ headers }) => typeOf(headers.get("content-type"))))];
  return [
    "differs",
    `refusals come as ${types.join(", ")} instead of application/problem+json: read by their status alone`,
  ];
}

const isOwnRefusal = (one: Answered): boolean => [400, 409, 422].includes(one.status) && !isMarked(one);

const isProblem = (one: Answered): boolean =>
  typeOf(one.headers.get("content-type")) === "application/problem+json" && objectOf(one) !== undefined;

const typeOf = (value: string | null): string =>
  /^[\w.+-]+\/[\w.+-]+/.exec(value ?? "")?.[0].toLowerCase() ?? "no known type";
