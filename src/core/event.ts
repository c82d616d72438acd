import type { Verdict } from "./classify.js";
import type { AttemptEntry, BlockedBy, OperationRecord, StoredResponse } from "./record.js";

/** When it happened, in milliseconds since the Unix epoch. */
interface Timed {
  readonly at: number;
  /** The server's clock at that moment, where a speaking answer has told it. */
  readonly serverAt?: number | undefined;
}

/** For how long a lease is to last. */
interface Leased {
  readonly length: number;
  /** The steady clock of the holder's machine at that moment, where it has one. */
  readonly steady?: number | undefined;
}

/** Whether the operation's `settled` hook is owed (or the operation is unknown here, so that it may be). */
interface Hooked {
  readonly hook: boolean;
}

/** What an attempt tells when it ends. */
interface Ended extends Timed, Hooked {
  /** The fence under which the attempt was claimed. */
  readonly fence: number;
  /** The entry for the history. */
  readonly entry: AttemptEntry;
  /** The wait until the next attempt, should there be one; not less than what the server asked for. */
  readonly delay: number;
}

/** Mints a key, should one have to be replaced. */
export type Mint = (version: "v7" | "v4") => string;

/** What can happen to an operation. */
export type OperationEvent =
  /** Someone takes it to work on it. */
  | ({ readonly type: "claim"; readonly holder: string } & Leased & Timed & Hooked)
  /** Its attempt begins: from here on it may have been sent. */
  | ({ readonly type: "begin"; readonly mint: Mint } & Timed)
  /** Its holder needs longer. */
  | ({ readonly type: "extend"; readonly fence: number } & Leased & Pick<Timed, "at">)
  /** Its attempt ended before a byte was sent. */
  | ({
      readonly type: "unsent";
      readonly block?: BlockedBy | undefined;
      /** The most attempts that are made; absent for one that does not count. */
      readonly maxAttempts?: number | undefined;
    } & Ended)
  /** Its attempt ended, with an answer or without. */
  | ({
      readonly type: "answer";
      readonly verdict: Verdict;
      readonly response?: StoredResponse | undefined;
      readonly timedOut?: boolean | undefined;
      /** The most attempts that are made. */
      readonly maxAttempts: number;
      /** For how long an unexplained 409 is retried, in milliseconds. */
      readonly patience: number;
      readonly mint: Mint;
    } & Ended)
  /** Its `settled` hook failed and is called again later. */
  | { readonly type: "postpone"; readonly at: number; readonly fence: number; readonly delay: number }
  | ({ readonly type: "retry" } & Timed & Hooked)
  | ({ readonly type: "cancel"; readonly at: number } & Hooked)
  | ({ readonly type: "discard"; readonly at: number; readonly reason: string } & Hooked)
  | ({ readonly type: "reconcile"; readonly at: number; readonly outcome: "applied" | "not-applied" } & Hooked)
  /** Another operation takes its place; whoever says so has found out that it was not applied. */
  | ({ readonly type: "reissue"; readonly reason: string } & Timed & Hooked)
  | { readonly type: "adopt"; readonly owner: string }
  /** Its `settled` hook has had it. */
  | {
      readonly type: "deliver";
      readonly at: number;
      /** The record as the hook has had it: what has become of it meanwhile is still owed. */
      readonly delivered?: Pick<OperationRecord, "state" | "code" | "settledAt"> | undefined;
    };

/** The events of one type. */
export type EventOf<Type extends OperationEvent["type"]> = Extract<OperationEvent, { readonly type: Type }>;
