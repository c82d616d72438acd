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
  type Seen,
} from "../observation.js";

/** Headers that say what the answer is, and are stored with it. */
const telling = ["content-type", "content-language", "content-location", "content-disposition", "content-encoding"];
const validating = ["cache-control", "etag", "last-modified", "link"];

/** All that came for a key that was done before: each with the answer that it should be. */
function repeats(seen: Seen): (readonly [first: Answered, repeat: Answered])[] {
  const first = firstOf(seen);
  const winner = winnerOf(seen);
  return [
    ...answersTo(seen, "repeat", "later").map((repeat) => [first, repeat] as const),
    ...answersTo(seen, "after-burst").map((repeat) => [winner, repeat] as const),
  ].filter((pair): pair is readonly [Answered, Answered] => pair[0] !== undefined);
}

/** The answer to the burst's key. */
export const winnerOf = (seen: Seen): Answered | undefined =>
  answersTo(seen, "burst", "after-burst").find((answer) => isSuccess(answer) || isMarked(answer));

/** Whether the same key is done once. */
export function dedupes(seen: Seen): Finding {
  const first = firstOf(seen);
  const repeat = latest(seen, "repeat");
  if (!first || !isAnswered(repeat)) return ["not-seen", ending(seen)];
  if (isMarkedReplay(first)) return ["broken", "a new key was answered as a replay: whose answer was that?"];
  if (repeats(seen).some(([, one]) => isMarkedExecuted(one))) {
    return ["broken", "does not deduplicate: by its own mark it carried out a repeat once more"];
  }
  if (isMarkedReplay(repeat))
    return ["kept", "the same request under the same key is not carried out again, as its mark says"];
  if (isSame(first, repeat)) return byAnswers(seen, first);
  if (repeat.status === 409)
    return ["not-seen", "a repeat is refused (409): it is not carried out again, as far as that tells"];
  if (isSuccess(repeat)) {
    return [
      "broken",
      "does not deduplicate, as far as can be seen: the repeat got another answer and no mark, so it was carried out again " +
        "or its answer was made anew",
    ];
  }
  return ["not-seen", `the repeat was answered ${repeat.status} instead of the first's ${first.status}`];
}

/** Without marks: one key has one answer, also after another key had another. */
function byAnswers(seen: Seen, first: Answered): Finding {
  const other = winnerOf(seen);
  const later = latest(seen, "later");
  if (!other || !isAnswered(later)) return ["not-seen", ending(seen)];
  if (!isSame(later, first))
    return ["broken", "does not deduplicate for long: a later repeat got another answer and no mark"];
  if (isSame(other, first)) {
    return [
      "not-seen",
      "every key gets the same answer and none a mark, which does not tell how often it was carried out",
    ];
  }
  return [
    "kept",
    "the same request under the same key gets the first answer again, another key another: it is done once",
  ];
}

/** Whether a replay is the answer itself. */
export function replay(seen: Seen): Finding {
  const pairs = repeats(seen);
  if (pairs.length === 0) return ["not-seen", ending(seen)];
  for (const [first, repeat] of pairs) {
    if (repeat.status !== first.status) {
      return ["broken", `a repeat is answered ${repeat.status}, the first was ${first.status}`];
    }
    if (Buffer.compare(first.body, repeat.body) !== 0) {
      return ["broken", `the body of a repeat is another (${first.body.length} and ${repeat.body.length} bytes)`];
    }
  }
  const isWhole = pairs.every(([first, repeat]) => first.whole && repeat.whole);
  return [
    "kept",
    `a repeat gets the first answer's status and body, byte for byte${isWhole ? "" : " as far as it was read"}`,
  ];
}

/** Whether it has the answer's headers too. */
export function replayHeaders(seen: Seen): Finding {
  const pairs = repeats(seen);
  if (pairs.length === 0) return ["not-seen", ending(seen)];
  const differing = (names: readonly string[]): string[] =>
    names.filter((name) => pairs.some(([first, repeat]) => first.headers.get(name) !== repeat.headers.get(name)));
  const told = differing(["location", ...telling]);
  if (told.length > 0) return ["broken", `a repeat has other headers than the first: ${told.join(", ")}`];
  const valid = differing(validating);
  if (valid.length > 0) return ["differs", `a repeat has other headers than the first: ${valid.join(", ")}`];
  return ["kept", "a repeat has the first answer's headers"];
}

/** Whether stored answers are told from those of what stands in front of the key. */
export function marks(seen: Seen): Finding {
  const first = firstOf(seen);
  const done = answersTo(seen, "repeat", "later", "after-burst").filter((one) => isSuccess(one) || isMarked(one));
  if (!first || done.length === 0) return ["not-seen", ending(seen)];
  const own = answersTo(seen, "without-key", "other-body").filter((one) => !isSuccess(one) && isMarked(one));
  if (own.length > 0)
    return ["broken", "a refusal that belongs to no operation bears a mark, as if it were one's answer"];
  if (isMarked(first) && done.every(isMarkedReplay)) {
    return ["kept", "stored answers are marked (Idempotency-Status, Idempotency-Replayed): a marked refusal is final"];
  }
  if (done.some(isMarked) || isMarked(first)) return ["differs", "some stored answers are marked, and some are not"];
  return ["differs", "no answer is marked: a refusal after a lost answer cannot be told from one in front of the key"];
}
