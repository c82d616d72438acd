/**
 * Errors, classed by what the caller does next. Recognise them by `code` (or `instanceof`, which works across two
 * copies of the package). Every message says what happened, whether anything may have been applied, and what to do.
 */

const brand: symbol = Symbol.for("samekey.error");

/** Codes of {@link MisuseError}. */
export type MisuseCode =
  | "key_reused"
  | "unprocessable"
  | "key_missing"
  | "intent_mismatch"
  | "already_sent"
  | "already_settled"
  | "in_flight"
  | "unknown_operation"
  | "bad_option"
  | "body_not_replayable";
/** Codes of {@link RejectedError}. */
export type RejectedCode = "rejected" | "expired";
/** Codes of {@link UnknownOutcomeError}. */
export type UnknownOutcomeCode = "key_expired" | "deadline" | "attempts" | "refused_while_uncertain" | "discarded";
/** Codes of {@link PendingError}. */
export type PendingCode = "pending" | "blocked" | "closed" | "lane";
/** Codes of {@link StoreError}. */
export type StoreCode =
  | "not_durable"
  | "store_full"
  | "unavailable"
  | "stalled"
  | "corrupt"
  | "newer_schema"
  | "sealed";
/** Codes of {@link ResultError}. */
export type ResultCode = "unreadable";
/** Codes of {@link CanceledError}. */
export type CanceledCode = "canceled";
/** Every code that a {@link SamekeyError} can carry. */
export type ErrorCode =
  | MisuseCode
  | RejectedCode
  | UnknownOutcomeCode
  | PendingCode
  | StoreCode
  | ResultCode
  | CanceledCode;

/** What an error tells of the operation's record. The full record satisfies it. */
export interface ErrorRecord {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly owner: string;
  readonly intent?: string | undefined;
  readonly state: string;
  /** What it waits for, where it is blocked: `credentials`, `refused`, … */
  readonly blockedBy?: string | undefined;
  readonly attempts: number;
  /** The last attempts that have ended, the latest one last. */
  readonly history?:
    | readonly {
        readonly at: number;
        readonly ms: number;
        readonly verdict: string;
        readonly status?: number | undefined;
        readonly cause?: string | undefined;
      }[]
    | undefined;
  readonly uncertainSince?: number | undefined;
  /** An attempt that may be under way. */
  readonly mark?: unknown;
  readonly wire?: { readonly dedupes: boolean } | undefined;
}

/** What a {@link SamekeyError} is made from, besides its code. */
export interface ErrorDetails<Data = unknown> {
  /** The message's particulars: names the thing that is wrong. */
  readonly detail?: string | undefined;
  readonly id?: string | undefined;
  readonly key?: string | undefined;
  readonly record?: ErrorRecord | undefined;
  readonly cause?: unknown;
  readonly status?: number | undefined;
  readonly headers?: Headers | undefined;
  readonly data?: Data | undefined;
  /** The paths at which two requests differ (`intent_mismatch`), or a body does not fit its schema (`bad_option`). */
  readonly fields?: readonly string[] | undefined;
}

/** A sentence, or one that depends on where the operation stands. */
type Sentence = string | ((record: ErrorRecord | undefined) => string);

const isOver = (record: ErrorRecord | undefined): boolean =>
  ["succeeded", "rejected", "expired", "misused", "canceled"].includes(record?.state ?? "");

const isUncertain = (record: ErrorRecord | undefined): boolean =>
  record !== undefined && !isOver(record) && (record.uncertainSince !== undefined || record.mark !== undefined);

/** Whether the operation was applied, as truthfully as its record can tell. */
const standing =
  (subject: string, unknown = "may have been applied"): Sentence =>
  (record) => {
    if (record === undefined) return `${subject} ${unknown}.`;
    if (record.state === "succeeded") return `${subject} was applied.`;
    if (isOver(record)) return `${subject} was not applied.`;
    if (record.state === "unresolved" || isUncertain(record)) return `${subject} may have been applied.`;
    return `${subject} has not been applied so far.`;
  };

const byThisAttempt: Sentence = (record) =>
  `Nothing was applied by the attempt that was answered${isUncertain(record) ? "; an earlier one may have been applied." : "."}`;

const lookUp = "Find out with the API's own look-up, then `reconcile` it";
const lookUpOrRetry: Sentence = (record) =>
  record?.wire?.dedupes === false
    ? `${lookUp}; it is not sent again, because the API does not deduplicate.`
    : `${lookUp}, or \`retry\` it within the key's life.`;
const finishIt = "Finish or `discard` the recorded operation (`error.record`), use";
const whenRefused =
  (whenOver: string): Sentence =>
  (record) =>
    record?.state === "blocked"
      ? "The operation is kept: remove the cause and `retry` it, or find out and `reconcile` or `discard` it."
      : whenOver;

const text: Record<ErrorCode, readonly [happened: string, applied: Sentence, next: Sentence]> = {
  key_reused: [
    "This idempotency key belongs to a different request",
    "Nothing was applied by this request; the other one may have been applied.",
    whenRefused("Fix the program: one key belongs to one request."),
  ],
  unprocessable: [
    "The server answered 422: it understood the request and refused its content",
    byThisAttempt,
    whenRefused('Fix the body, or declare `unprocessable: "rejected"` where 422 is ordinary form validation.'),
  ],
  key_missing: [
    "The server did not accept the idempotency key",
    byThisAttempt,
    whenRefused("Check the key's header, format and length against the API's documentation."),
  ],
  intent_mismatch: [
    "This intent is already recorded with a different request",
    (record) => `Nothing was sent now. ${say(standing("The recorded operation"), record)}`,
    (record) => `${isOver(record) ? "Use" : finishIt} another intent, or declare \`onIntentMismatch: "keep-first"\`.`,
  ],
  already_sent: [
    "The operation cannot be canceled, because it was sent",
    standing("It"),
    (record) => (isOver(record) ? "Its outcome stands." : "Wait for its outcome, or `discard` it with a reason."),
  ],
  already_settled: ["The operation has an outcome already", standing("It"), "Its outcome stands."],
  in_flight: [
    "An attempt of the operation is under way and may still arrive at the server",
    "It may have been applied.",
    "Wait for the attempt to end, then try again.",
  ],
  unknown_operation: [
    "No such operation is known",
    "Nothing was sent.",
    "Correct the name (declared under `operations` of createSdk), the id, or the intent and owner.",
  ],
  bad_option: ["An option is wrong", "Nothing was recorded or sent.", "Correct the option."],
  body_not_replayable: [
    "The body cannot be recorded and sent again byte for byte",
    "Nothing was recorded or sent.",
    "Pass JSON values, a string or bytes.",
  ],
  rejected: ["The operation was refused", "Nothing was applied.", "Tell the user; the intent is free again."],
  expired: [
    "The operation was given up before it could be applied",
    "Nothing was applied.",
    "Tell the user; the intent is free again.",
  ],
  key_expired: [
    "The server may no longer remember the idempotency key, and the outcome is unknown",
    "The operation may or may not have been applied.",
    `${lookUp}; it is not sent again.`,
  ],
  deadline: [
    "The operation's deadline passed, and the outcome is unknown",
    "The operation may or may not have been applied.",
    lookUpOrRetry,
  ],
  attempts: [
    "No attempts are left, and the outcome is unknown",
    "The operation may or may not have been applied.",
    lookUpOrRetry,
  ],
  refused_while_uncertain: [
    "A refusal that does not speak for the key followed an attempt whose outcome is unknown",
    "The operation may or may not have been applied.",
    "Remove the cause and `retry` it, or find out with the API's own look-up and `reconcile` it.",
  ],
  discarded: [
    "The operation was discarded with its outcome unknown",
    "The operation may or may not have been applied.",
    "Find out with the API's own look-up before doing it anew.",
  ],
  pending: [
    "The operation has no outcome yet",
    standing("It", "may or may not have been applied"),
    "Nothing is lost: wait for its outcome, or attach to it later.",
  ],
  blocked: [
    "The operation is kept, but it needs someone before it can go on",
    standing("It", "may or may not have been applied"),
    "Remove the cause (sign in, or see `error.record`), then send it again or `retry` it.",
  ],
  closed: [
    "The SDK was closed before the operation had an outcome",
    standing("It", "may or may not have been applied"),
    "Nothing is lost: `start()` or `resume()` of a new Sdk goes on with it.",
  ],
  lane: [
    "The lane stands still behind an operation that is blocked or unresolved",
    "This operation was not sent.",
    "Resolve the head of the lane (`error.record`); this one then goes on by itself.",
  ],
  not_durable: [
    "The store could not confirm the write, which may or may not have been recorded",
    "Nothing was sent.",
    "Try again; an operation that was recorded after all is canceled as soon as the store answers.",
  ],
  store_full: [
    "The store has no room left",
    "Nothing was recorded or sent.",
    "Free disk space, raise the quota, `prune`, or let what is pending finish, then try again.",
  ],
  unavailable: ["The store could not be opened or used", "Nothing was sent.", "Remove the cause, then try again."],
  stalled: [
    "The store did not answer in time",
    "Nothing was sent.",
    "Close other programs or tabs that hold the store, then try again; an operation that was recorded after all is canceled as soon as the store answers.",
  ],
  corrupt: [
    "The store is damaged, or is not a samekey store",
    "Nothing was sent, and the store was left as it is.",
    "Restore it from a copy or move it away; it is never replaced silently.",
  ],
  newer_schema: [
    "The store was written by a newer version of samekey",
    "Nothing was sent, and the store was left as it is.",
    "Upgrade samekey.",
  ],
  sealed: [
    "What is recorded cannot be opened",
    "Nothing was sent.",
    "Pass the key to `seal` of createSdk again, then try again; nothing is lost meanwhile.",
  ],
  unreadable: [
    "The operation succeeded, but its answer could not be read as declared",
    "It was applied.",
    "Do not repeat it; read `error.data` where there is any, and correct the schema if it is wrong.",
  ],
  canceled: ["The operation was canceled before it was sent", "Nothing was applied.", "There is nothing to do."],
};

function say(sentence: Sentence, record: ErrorRecord | undefined): string {
  return typeof sentence === "string" ? sentence : sentence(record);
}

/** Turns a code and its particulars into the sentences a reader gets. */
function compose(code: ErrorCode, { detail, record }: ErrorDetails): string {
  const [happened, applied, next] = text[code];
  let what = happened;
  if (record) what += `: \`${record.name}\``;
  if (record?.intent) what += `, intent ${JSON.stringify(record.intent)}`;
  if (detail) what += `: ${detail.replace(/\.$/, "")}`;
  const last = /pending|closed/.test(code) && record?.history?.at(-1);
  if (record && last) {
    const came = last.cause ?? (last.status ? `HTTP ${last.status}` : last.verdict);
    what += `; the last of ${record.attempts} attempts: ${came}`;
  }
  return `${what}. ${say(applied, record)} ${say(next, record)}`;
}

/**
 * The base of every error that samekey raises on purpose.
 *
 * @typeParam Code - the codes that the class can carry
 * @typeParam Data - the server's parsed answer, where a server answered
 */
export class SamekeyError<Code extends ErrorCode = ErrorCode, Data = unknown> extends Error {
  /** What went wrong, stable across versions. */
  readonly code: Code;
  /** The operation's local id. */
  readonly id: string | undefined;
  /** The operation's idempotency key. */
  readonly key: string | undefined;
  /** The operation's record, as far as there is one. */
  readonly record: ErrorRecord | undefined;
  /** The HTTP status, where a server answered. */
  readonly status: number | undefined;
  /** The response's headers, where a server answered. */
  readonly headers: Headers | undefined;
  /** The response's parsed body, where a server answered. */
  readonly data: Data | undefined;
  /** The paths at which two requests differ (`intent_mismatch`), or a body does not fit its schema (`bad_option`). */
  readonly fields: readonly string[] | undefined;

  /** The class's name, whatever a bundler makes of it. */
  static readonly kind: string = "SamekeyError";

  constructor(code: Code, details: ErrorDetails<Data> = {}) {
    super(compose(code, details), details.cause === undefined ? undefined : { cause: details.cause });
    const { kind } = new.target;
    Object.defineProperty(this, brand, { value: kind });
    this.name = kind;
    this.code = code;
    this.id = details.id ?? details.record?.id;
    this.key = details.key ?? details.record?.key;
    this.record = details.record;
    this.status = details.status;
    this.headers = details.headers;
    this.data = details.data;
    this.fields = details.fields;
    // A program that prints an error, or dies of it, prints no bodies.
    for (const name of ["record", "headers", "data"]) Object.defineProperty(this, name, { enumerable: false });
  }

  // The brand, not the prototype: two copies of the package recognise each other's errors.
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null) return false;
    const kind = (value as Record<symbol, unknown>)[brand];
    if (this === SamekeyError) return kind !== undefined;
    const own = Object.getOwnPropertyDescriptor(this, "kind")?.value as unknown;
    // A user's own subclass has no brand; its prototype decides.
    return own === undefined ? super[Symbol.hasInstance](value) : kind === own;
  }
}

/** The program is wrong: fix it. Never retried. */
export class MisuseError<Data = unknown> extends SamekeyError<MisuseCode, Data> {
  static override readonly kind = "MisuseError";
}

/** The answer is no, and nothing was applied: tell the user. */
export class RejectedError<Data = unknown> extends SamekeyError<RejectedCode, Data> {
  static override readonly kind = "RejectedError";
}

/** It may or may not have been applied, and samekey has stopped: reconcile. */
export class UnknownOutcomeError<Data = unknown> extends SamekeyError<UnknownOutcomeCode, Data> {
  static override readonly kind = "UnknownOutcomeError";
  declare readonly id: string;
  declare readonly key: string;
  declare readonly record: ErrorRecord;
  constructor(code: UnknownOutcomeCode, details: ErrorDetails<Data> & { readonly record: ErrorRecord }) {
    super(code, details);
  }
}

/** The operation is alive; only the waiting ended. */
export class PendingError<Data = unknown> extends SamekeyError<PendingCode, Data> {
  static override readonly kind = "PendingError";
}

/** The local store failed: nothing was sent. */
export class StoreError extends SamekeyError<StoreCode> {
  static override readonly kind = "StoreError";
}

/** It succeeded, but the answer's body did not fit what was declared. */
export class ResultError<Data = unknown> extends SamekeyError<ResultCode, Data> {
  static override readonly kind = "ResultError";
}

/** It was withdrawn before it was ever sent. */
export class CanceledError extends SamekeyError<CanceledCode> {
  static override readonly kind = "CanceledError";
  constructor(code: CanceledCode = "canceled", details?: ErrorDetails) {
    super(code, details);
  }
}
