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
export type StoreCode = "not_durable" | "store_full" | "unavailable" | "stalled" | "corrupt" | "newer_schema";
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
  readonly attempts: number;
  readonly uncertainSince?: number | undefined;
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
  /** For `intent_mismatch`: the paths at which the two requests differ. */
  readonly fields?: readonly string[] | undefined;
}

const text: Record<ErrorCode, readonly [happened: string, applied: string, next: string]> = {
  key_reused: [
    "The server has seen this idempotency key with a different request",
    "Nothing was applied by this request; an earlier one under the same key may have been.",
    "Fix the program: one key belongs to one request.",
  ],
  unprocessable: [
    "The server answered 422: it understood the request and refused its content",
    "Nothing was applied by the answered attempt.",
    'Fix the body, or declare `unprocessable: "rejected"` where 422 is ordinary form validation.',
  ],
  key_missing: [
    "The server did not accept the idempotency key",
    "Nothing was applied.",
    "Check the key's place, name and format against the API's documentation.",
  ],
  intent_mismatch: [
    "This intent is already recorded with a different request",
    "Nothing was sent now; the recorded operation keeps its own outcome.",
    'Finish or discard the recorded operation (`error.record`), use another intent, or declare `onIntentMismatch: "keep-first"`.',
  ],
  already_sent: [
    "The operation cannot be canceled: an attempt was sent",
    "It may have been applied.",
    "Wait for its outcome, or discard it with a reason.",
  ],
  in_flight: [
    "An attempt of the operation may still arrive at the server",
    "It may have been applied.",
    "Wait for the attempt to end, then try again.",
  ],
  unknown_operation: [
    "No operation of this name or id is known",
    "Nothing was sent.",
    "Declare it under `operations` of createSdk, or correct the name or id.",
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
    "The server may no longer remember the idempotency key",
    "The operation may have been applied.",
    "Find out with the API's own look-up, then `reconcile` it; it is not sent again.",
  ],
  deadline: [
    "The operation's deadline passed with its outcome unknown",
    "It may have been applied.",
    "Find out with the API's own look-up, then `reconcile` it, or `retry` it within the key's life.",
  ],
  attempts: [
    "No attempts are left and the outcome is unknown",
    "The operation may have been applied.",
    "Find out with the API's own look-up, then `reconcile` it, or `retry` it within the key's life.",
  ],
  refused_while_uncertain: [
    "A refusal that does not speak for the key followed an attempt whose outcome is unknown",
    "The operation may have been applied.",
    "Remove the cause and `retry` it, or find out and `reconcile` it.",
  ],
  discarded: [
    "The operation was discarded with its outcome unknown",
    "It may have been applied.",
    "Reconcile with the API's own look-up before doing it anew.",
  ],
  pending: [
    "The operation has no outcome yet",
    "It may have been applied.",
    "Nothing is lost: it goes on in the background; wait for its outcome, or attach to it later.",
  ],
  blocked: [
    "The operation is alive but needs someone",
    "It is not sent while it is blocked.",
    "Remove the cause (sign in, or see `error.record`), then `retry` it or send it again.",
  ],
  closed: [
    "The SDK was closed while the operation was under way",
    "It may have been applied.",
    "Nothing is lost: the next `start()` or `resume()` goes on with it.",
  ],
  lane: [
    "The lane stands still behind an operation that is blocked or unresolved",
    "This operation was not sent.",
    "Resolve the head of the lane (`error.record`); this one then goes on by itself.",
  ],
  not_durable: [
    "The store could not confirm that the operation was recorded",
    "Nothing was sent.",
    "Try again; if it was recorded after all, it is canceled as soon as the store answers.",
  ],
  store_full: [
    "The store has no room for the operation",
    "Nothing was recorded or sent.",
    "Free disk space or raise the quota, then try again.",
  ],
  unavailable: ["The store could not be opened or used", "Nothing was sent.", "Remove the cause and try again."],
  stalled: [
    "The store did not answer in time",
    "Nothing was sent.",
    "Try again; close other programs or tabs that hold the store.",
  ],
  corrupt: [
    "The store's file is damaged or is not a samekey store",
    "Nothing was sent and the file was left as it is.",
    "Move the file away or restore it; it is never replaced silently.",
  ],
  newer_schema: [
    "The store was written by a newer version of samekey",
    "Nothing was sent and the store was left as it is.",
    "Upgrade samekey.",
  ],
  unreadable: [
    "The operation succeeded, but its answer could not be read as declared",
    "It was applied.",
    "Do not repeat it: read `error.data`, and correct the schema.",
  ],
  canceled: ["The operation was canceled before it was sent", "Nothing was applied.", "Nothing to do."],
};

/** Turns a code and its particulars into the sentence a reader gets. */
function compose(code: ErrorCode, details: ErrorDetails): string {
  const [happened, applied, next] = text[code];
  const what = details.detail ? `${happened}: ${details.detail.replace(/\.$/, "")}.` : `${happened}.`;
  return `${what} ${applied} ${next}`;
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
  /** For `intent_mismatch`: the paths at which the two requests differ. */
  readonly fields: readonly string[] | undefined;

  constructor(code: Code, details: ErrorDetails<Data> = {}, kind = "SamekeyError") {
    super(compose(code, details), details.cause === undefined ? undefined : { cause: details.cause });
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
  }

  // The brand, not the prototype: two copies of the package recognise each other's errors.
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null || !(brand in value)) return false;
    const { kind } = this as { readonly kind?: string };
    return kind === undefined || (value as Record<symbol, unknown>)[brand] === kind;
  }
}

/** The program is wrong: fix it. Never retried. */
export class MisuseError<Data = unknown> extends SamekeyError<MisuseCode, Data> {
  static readonly kind = "MisuseError";
  constructor(code: MisuseCode, details?: ErrorDetails<Data>) {
    super(code, details, "MisuseError");
  }
}

/** The answer is no, and nothing was applied: tell the user. */
export class RejectedError<Data = unknown> extends SamekeyError<RejectedCode, Data> {
  static readonly kind = "RejectedError";
  constructor(code: RejectedCode, details?: ErrorDetails<Data>) {
    super(code, details, "RejectedError");
  }
}

/** It may or may not have been applied, and samekey has stopped: reconcile. */
export class UnknownOutcomeError<Data = unknown> extends SamekeyError<UnknownOutcomeCode, Data> {
  static readonly kind = "UnknownOutcomeError";
  constructor(code: UnknownOutcomeCode, details?: ErrorDetails<Data>) {
    super(code, details, "UnknownOutcomeError");
  }
}

/** The operation is alive; only the waiting ended. */
export class PendingError<Data = unknown> extends SamekeyError<PendingCode, Data> {
  static readonly kind = "PendingError";
  constructor(code: PendingCode, details?: ErrorDetails<Data>) {
    super(code, details, "PendingError");
  }
}

/** The local store failed: nothing was sent. */
export class StoreError extends SamekeyError<StoreCode> {
  static readonly kind = "StoreError";
  constructor(code: StoreCode, details?: ErrorDetails) {
    super(code, details, "StoreError");
  }
}

/** It succeeded, but the answer's body did not fit what was declared. */
export class ResultError<Data = unknown> extends SamekeyError<ResultCode, Data> {
  static readonly kind = "ResultError";
  constructor(code: ResultCode, details?: ErrorDetails<Data>) {
    super(code, details, "ResultError");
  }
}

/** It was withdrawn before it was ever sent. */
export class CanceledError extends SamekeyError<CanceledCode> {
  static readonly kind = "CanceledError";
  constructor(code: CanceledCode = "canceled", details?: ErrorDetails) {
    super(code, details, "CanceledError");
  }
}
