import type { OperationRecord } from "../core/record.js";
import type { SamekeyError } from "../errors.js";
import type { Live, Snapshot } from "./live.js";
import type { Operator } from "./operator.js";
import type { Outcome } from "./result.js";
import type { SaveOptions, SendOptions, SendResult } from "./types.js";

/** One operation in the caller's hands. Handles of one intent share one operation. */
export interface OperationHandle<Result = unknown, Failure = unknown> {
  /**
   * Records the operation durably and sends nothing.
   *
   * @throws MisuseError for a bad call, StoreError when it could not be recorded; with `tx`, what that throws, as it is
   */
  save(options?: SaveOptions): Promise<OperationRecord>;
  /**
   * Records, sends and waits for the outcome. The operation goes on when the waiting ends.
   *
   * @throws every SamekeyError, by what the caller does next; the reason of an aborted `signal`, as it is
   */
  send(options?: SendOptions): Promise<SendResult<Result>>;
  /** As `send`, but never throws: a union discriminated by `state`. An aborted `signal` is a PendingError's `cause`. */
  outcome(options?: SendOptions): Promise<Outcome<Result, Failure>>;
  /**
   * Withdraws the operation; resolves to its record, or to `undefined` when nothing was recorded.
   *
   * @throws MisuseError `already_sent` once it may have been sent
   */
  cancel(): Promise<OperationRecord | undefined>;
  /** Calls back whenever `getSnapshot` would answer differently. Answers with the way to stop. */
  subscribe(listener: () => void): () => void;
  /** The same frozen object until something changes. */
  getSnapshot(): Snapshot<Result, Failure>;
}

/** Finds the live operation behind a handle. `acting`: it is to be recorded now, so that later calls join it. */
export type Resolve = (acting: boolean) => Live;

/** @internal */
export class Handle implements OperationHandle {
  readonly #operator: Operator;
  readonly #resolve: Resolve;
  #listeners: Set<() => void> | undefined;
  #live: Live | undefined;
  #unwatch: () => void = idle;

  constructor(operator: Operator, resolve: Resolve) {
    this.#operator = operator;
    this.#resolve = resolve;
  }

  save(options: SaveOptions = {}): Promise<OperationRecord> {
    try {
      return this.#operator.save(this.#join(true), options);
    } catch (fault) {
      return Promise.reject(fault);
    }
  }

  send(options: SendOptions = {}): Promise<SendResult> {
    try {
      return this.#operator.send(this.#join(true), options);
    } catch (fault) {
      return Promise.reject(fault);
    }
  }

  async outcome(options: SendOptions = {}): Promise<Outcome> {
    try {
      return await this.#operator.outcome(this.#join(true), options);
    } catch (error) {
      return { state: "unsaved", error: error as SamekeyError };
    }
  }

  async cancel(): Promise<OperationRecord | undefined> {
    return this.#operator.cancelLive(this.#join(false));
  }

  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners ??= new Set();
    const listeners = this.#listeners.add(own);
    try {
      this.#join(false);
    } catch {
      // A call that was wrong from the start stays as it is.
    }
    return () => {
      listeners.delete(own);
      if (listeners.size > 0) return;
      this.#unwatch();
      this.#unwatch = idle;
    };
  }

  getSnapshot(): Snapshot {
    try {
      return this.#operator.snapshot(this.#join(false));
    } catch {
      return IDLE;
    }
  }

  #join(acting: boolean): Live {
    const live = this.#resolve(acting);
    if (live !== this.#live) {
      this.#unwatch();
      this.#live = live;
      this.#unwatch = idle;
    }
    if (this.#listeners?.size && this.#unwatch === idle) this.#unwatch = this.#operator.watch(live, this.#listeners);
    return live;
  }
}

function idle(): void {}

const IDLE: Snapshot = Object.freeze({
  id: undefined,
  name: undefined,
  intent: undefined,
  state: "idle",
  input: undefined,
  attempts: 0,
  nextAttemptAt: undefined,
  offline: false,
  mayHaveBeenApplied: false,
});
