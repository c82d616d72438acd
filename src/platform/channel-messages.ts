import type { BlockedBy, State } from "../core/record.js";

/** What every message of a channel tells: never bodies, headers, keys, owners or a URL's query. */
export interface OperationMessage {
  /** The Sdk's name. */
  readonly sdk: string;
  /** The operation's id. */
  readonly id: string;
  /** The operation's name. */
  readonly operation: string;
  readonly state: State;
  /** Attempts started so far. */
  readonly attempts: number;
  readonly method: string;
  /** Without query and fragment. */
  readonly url: string;
  /** When it was recorded, in milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

/** An attempt ended; what it means is not written down yet, and `state` is still that of before. */
export interface AttemptEndMessage extends OperationMessage {
  /** What the answer meant, or that there was none, as in `AttemptEntry`. */
  readonly verdict: string;
  readonly status: number | undefined;
  /** The name of the error that ended it. */
  readonly cause: string | undefined;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** The server said that it answered from its own record. */
  readonly replayed: boolean;
}

/** The next attempt is planned. */
export interface RetryMessage extends OperationMessage {
  /** The wait before it, in milliseconds. */
  readonly delay: number;
}

/** It waits for somebody. */
export interface BlockedMessage extends OperationMessage {
  readonly blockedBy: BlockedBy | undefined;
}

/** It is over, or was given up. */
export interface SettledMessage extends OperationMessage {
  /** Why it is in this state: an error code. */
  readonly code: string | undefined;
  /** Of the answer that settled it. */
  readonly status: number | undefined;
  /** Whether that answer was the server's own record of an earlier one; `none`: no answer settled it. */
  readonly source: "executed" | "replayed" | "none";
  /** Since it was recorded, in milliseconds. */
  readonly ms: number;
}

/** The channels of Node's `diagnostics_channel`, and what is published on each. */
export interface ChannelMessages {
  "samekey:saved": OperationMessage;
  "samekey:attempt:start": OperationMessage;
  "samekey:attempt:end": AttemptEndMessage;
  "samekey:retry": RetryMessage;
  "samekey:blocked": BlockedMessage;
  "samekey:settled": SettledMessage;
  "samekey:unresolved": SettledMessage;
}
