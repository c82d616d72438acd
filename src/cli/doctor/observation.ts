import { classify, isReplay, speaksForKey, type Verdict } from "../../core/classify.js";
import type { HeaderReader } from "../../core/retry-after.js";

/** An answer as it came. */
export interface Answered {
  readonly kind: "answered";
  readonly status: number;
  readonly headers: HeaderReader;
  readonly body: Uint8Array;
  /** Whether that is all of it: only so much is read. */
  readonly whole: boolean;
}

/** No answer, or none to its end. */
export interface Failed {
  readonly kind: "failed";
  /** `unsent`: not a byte of the request left. */
  readonly how: "unsent" | "unanswered";
  /** For a reader, without anything of the request. */
  readonly cause: string;
}

/** What came of one request. */
export type Observation = Answered | Failed;

/** The requests that the doctor makes, by what they are to show. */
export type ProbeName =
  | "published"
  | "preflight"
  /** A new key; quoted where it was refused bare. */
  | "first"
  | "quoted-first"
  /** The same key and bytes, once more. */
  | "repeat"
  | "without-key"
  /** Another new key, several times at once. */
  | "burst"
  /** The burst's key, when that is over. */
  | "after-burst"
  /** The first key, after the burst's. */
  | "later"
  /** The first key in the other of the two forms, bare or quoted. */
  | "other-form"
  /** The first key with another body. */
  | "other-body";

/** All that was seen, in the order in which it was sent. */
export type Seen = ReadonlyMap<ProbeName, readonly Observation[]>;

export const isAnswered = (observation: Observation | undefined): observation is Answered =>
  observation?.kind === "answered";

/** The answers to these requests, those that got none left out. */
export const answersTo = (seen: Seen, ...names: readonly ProbeName[]): Answered[] =>
  names.flatMap((name) => seen.get(name) ?? []).filter(isAnswered);

/** The latest of them. */
export const latest = (seen: Seen, ...names: readonly ProbeName[]): Observation | undefined =>
  names.flatMap((name) => seen.get(name) ?? []).at(-1);

export const isSuccess = ({ status }: Answered): boolean => status >= 200 && status <= 299;
export const isMarked = ({ headers }: Answered): boolean => speaksForKey(headers);
export const isMarkedReplay = ({ headers }: Answered): boolean => isReplay(headers);
export const isMarkedExecuted = ({ headers }: Answered): boolean =>
  headers.get("idempotency-status")?.toLowerCase() === "executed";

/** Whether both tell the same: status, place and bytes. */
export function isSame(one: Answered, other: Answered): boolean {
  const sameHead = one.status === other.status && one.headers.get("location") === other.headers.get("location");
  return sameHead && Buffer.compare(one.body, other.body) === 0;
}

/** What samekey's client makes of it, without a profile. */
export function verdictOf({ status, headers, body }: Answered, now: number): Verdict {
  const rules = { json: false, conflict: "in-progress", unprocessable: "misused", override: undefined } as const;
  return classify({ kind: "answer", status, headers, body: new Uint8Array(body).buffer }, rules, now);
}

/** Its JSON, if it is an object of JSON. */
export function objectOf({ body }: Answered): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** What a server said, for a terminal: short, and no control characters. */
export function shown(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]/g, "?");
  return JSON.stringify(plain.length > 80 ? `${plain.slice(0, 80)}…` : plain);
}
