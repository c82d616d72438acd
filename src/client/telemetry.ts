import type { AttemptEntry, OperationRecord } from "../core/record.js";
import type { Clock, Store } from "../store.js";
import type { SdkEvents } from "./sdk-events.js";

/**
 * Watches Sdks at work: `openTelemetry()` and `prometheus()` of `samekey/telemetry` make one. It can neither change what
 * becomes of an operation nor hold it up; whatever it throws is logged.
 */
export interface Telemetry {
  /** Called once for each Sdk that it is passed to. */
  join(sdk: ObservedSdk): Observer;
}

/** The Sdk that is joined. */
export interface ObservedSdk {
  readonly name: string;
  /** The names of its operations. */
  readonly operations: readonly string[];
  readonly clock: Clock;
  /** As `Sdk.on`. */
  on<E extends keyof SdkEvents>(event: E, listener: (detail: SdkEvents[E]) => void): () => void;
  /**
   * Its store, opened if it is not yet; to be read only.
   *
   * @throws StoreError where it cannot be opened, or the Sdk was closed
   */
  store(): Promise<Store>;
}

/** What is told of one Sdk. Called synchronously, in the middle of its work. */
export interface Observer {
  /** The program saves or sends an operation. Called within its call, and in its asynchronous context. */
  onCall?(call: ObservedCall): CallObserver | undefined;
  /** An attempt begins. */
  onAttempt?(attempt: ObservedAttempt): AttemptObserver | undefined;
  /** The store is about to be opened: answers with what is used in its place. */
  onStore?(store: Store): Store;
  /** The Sdk was closed: nothing more will be told, and nothing is to be asked of it. */
  onClose?(): void;
}

/** One call of `save`, `send` or `outcome`. */
export interface ObservedCall {
  readonly kind: "save" | "send";
  /** The operation's name; undefined where it was attached to by its id. */
  readonly operation: string | undefined;
}

/** Follows one call. */
export interface CallObserver {
  /** Where the call stands in a trace, as W3C Trace Context writes it: kept with the record that it makes. */
  readonly traceparent?: string | undefined;
  /** It has come to its end; the operation may go on. */
  end(record: OperationRecord | undefined, error: unknown): void;
}

/** One attempt of an operation. */
export interface ObservedAttempt {
  readonly record: OperationRecord;
  /** What {@link Observer.onCall} answered for the call that drives it, where this process has one. */
  readonly call: CallObserver | undefined;
  /** Whether it goes to `baseUrl`'s origin. */
  readonly isBase: boolean;
}

/** How an attempt ended. */
export interface AttemptEnd extends AttemptEntry {
  /** The server said that it answered from its own record. */
  readonly replayed: boolean;
}

/** Follows one attempt. */
export interface AttemptObserver {
  /** Sent along where the request has no such header. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Calls `work` once, in a context of its own, and answers what it answers. Called for `headers()` and for `fetch`. */
  run?<T>(work: () => T): T;
  /** It has ended; what it means is not written down yet. */
  end(ended: AttemptEnd): void;
}
