/** One transaction on one connection. */

import { faultPoint } from "../../core/fault-point.js";
import { StoreError } from "../../errors.js";
import type { Clock } from "../../store.js";
import type { SharedClock } from "../shared-clock.js";
import type { Answer, Session } from "./driver.js";
import { isLost, PostgresFailure, UnknownFate } from "./failure.js";
import { learnTime, TIME } from "./time.js";

/** How long a transaction may take, in milliseconds, before its connection is closed. The server gives up sooner. */
const DEADLINE = 15_000;

/**
 * Short waits for locks, so that one row that is locked for long holds up nobody but its own verb. All of it ends with the
 * transaction, so a pooler may hand the connection to anyone afterwards.
 */
const BEGIN = `begin isolation level read committed read write;
  set local lock_timeout = '200ms'; set local statement_timeout = '8s';
  set local idle_in_transaction_session_timeout = '20s';
  select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off';
  ${TIME}`;
const COMMIT = "commit";
const COMMIT_RELAXED = "set local synchronous_commit to off; commit";

/** A connection for the length of one transaction. One whose state is not known is never given back. */
export class Attempt {
  /** The connection has answered. */
  begun = false;
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #time: SharedClock | undefined;
  #open = false;
  #committing = false;
  /** Nothing more can be asked of it. */
  #lost = false;

  constructor(session: Session, clock: Clock, time: SharedClock | undefined) {
    this.#session = session;
    this.#clock = clock;
    this.#time = time;
  }

  async query(text: string, ...values: readonly unknown[]): Promise<Answer> {
    // Its callers were told that it failed: the rest of it must not be done after all.
    if (this.#lost) throw new StoreError("stalled", { detail: "Postgres: the transaction was given up" });
    const answer = await this.#session.query(text, ...values);
    this.begun = true;
    return answer;
  }

  async begin(): Promise<void> {
    this.#open = true;
    await learnTime(this, this.#time, BEGIN);
    FAULT: faultPoint("group:begun");
  }

  async commit(strict: boolean): Promise<void> {
    FAULT: faultPoint("group:commit");
    this.#committing = true;
    let command: string | undefined;
    try {
      const asked = this.query(strict ? COMMIT : COMMIT_RELAXED);
      FAULT: faultPoint("group:asked");
      ({ command } = await asked);
    } catch (error) {
      // Only a statement's own error tells that the transaction is gone; a lost connection may have committed.
      if (isLost(error)) throw new UnknownFate(undefined, { cause: error });
      this.#committing = false;
      throw error;
    }
    this.#open = false;
    if (command?.toUpperCase() === "ROLLBACK") {
      throw new PostgresFailure({ message: "COMMIT was answered with ROLLBACK", code: "40000" });
    }
    FAULT: faultPoint("group:committed");
  }

  /** Runs `act` within the deadline, and undoes what it leaves open. */
  async within<T>(act: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const acting = act();
    const late = this.#clock.sleep(DEADLINE, over.signal, true).then(
      () => "late" as const,
      () => undefined,
    );
    try {
      const first = await Promise.race([acting.then((value) => ({ value })), late]);
      if (typeof first === "object") return first.value;
      this.#lost = true;
      this.#session.release(true);
      // A closed connection fails what was under way on it; one that cannot be closed is left to itself.
      acting.catch(() => {});
      const detail = `Postgres: no answer within ${DEADLINE} ms`;
      if (this.#committing) throw new UnknownFate(undefined, { cause: new Error(detail) });
      throw new StoreError("stalled", { detail });
    } catch (error) {
      this.#lost ||= isLost(error) || error instanceof UnknownFate;
      await this.#rollback();
      throw error;
    } finally {
      over.abort(0);
      this.#session.release(this.#open || this.#lost);
    }
  }

  async #rollback(): Promise<void> {
    if (!this.#open || this.#lost) return;
    await this.#session.query("rollback").then(
      () => {
        this.#open = false;
      },
      () => {},
    );
  }
}
