/** Answers on their way into the table and out of it again. */
import { type HeaderPair, type Outcome, outcomeOf } from "./answer.js";
import type { CheckedAnswer } from "./checked-answer.js";
import type { KeySource } from "./derive.js";
import { problem } from "./problem.js";
import type { Seal } from "./run-options.js";

/** A stored answer. */
export interface Stored {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
  /** The body was larger than what is stored; a tombstone keeps the rest. */
  readonly omitted: boolean;
}

/** What decides over how an answer is stored. */
export interface Storing {
  /** The names of the headers that are stored. */
  readonly names: ReadonlySet<string>;
  /** Bytes, of the body as it is stored. */
  readonly maxBody: number;
  readonly seal: Seal | undefined;
  readonly source: KeySource;
}

/** No name of a header: it tells in the row that its body is sealed. */
const sealed: HeaderPair = [":sealed", "1"];

/** @throws what `seal` throws */
export async function toStored(
  { status, headers, body }: CheckedAnswer,
  { names, maxBody, seal, source }: Storing,
): Promise<Stored> {
  const kept = headers.filter(([name]) => names.has(name));
  if (body === null || body.length > maxBody) return { status, headers: kept, body: null, omitted: body !== null };
  if (seal === undefined) return { status, headers: kept, body, omitted: false };
  const bytes = await seal.seal(body, source);
  if (!(bytes instanceof Uint8Array)) throw new TypeError("`seal.seal` must give bytes");
  const omitted = bytes.length > maxBody;
  return { status, headers: [...kept, sealed], body: omitted ? null : bytes, omitted };
}

/** The replay of a stored answer. Never throws: what cannot be opened is an answer, too, and runs nothing again. */
export async function replayOf(
  { status, headers: lines, body, omitted }: Stored,
  { seal, source }: Pick<Storing, "seal" | "source">,
): Promise<Outcome> {
  const headers = lines.filter(([name]) => name !== sealed[0]);
  if (omitted) return tombstone(status, headers);
  if (body === null || headers.length === lines.length) return outcomeOf("replayed", { status, headers, body });
  try {
    if (seal === undefined) throw new TypeError("the stored body is sealed, and its route has no `seal`");
    const opened = await seal.open(body, source);
    if (!(opened instanceof Uint8Array)) throw new TypeError("`seal.open` must give bytes");
    return outcomeOf("replayed", { status, headers, body: opened });
  } catch (error) {
    return problem("answer_unreadable", error);
  }
}

/** The headers that tell of the body which is gone. */
const ofTheBody: ReadonlySet<string> = new Set([
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-type",
  "etag",
  "last-modified",
]);

/**
 * The status still tells how the operation ended. The body says that it is not the one of the first answer, in a type of
 * its own: an empty one could be taken for data, and a problem for a failure.
 */
function tombstone(status: number, headers: readonly HeaderPair[]): Outcome {
  const lines: HeaderPair[] = [
    ...headers.filter(([name]) => !ofTheBody.has(name)),
    ["content-type", "application/vnd.samekey.omitted+json"],
    ["idempotency-body", "omitted"],
  ];
  const body = JSON.stringify({
    omitted: true,
    status,
    detail: "The operation ended with this status. The body of its answer was too large to be kept.",
  });
  return outcomeOf("replayed", { status, headers: lines, body: new TextEncoder().encode(body) });
}
