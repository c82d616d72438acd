/** Group commit: what is called in one turn of the event loop is committed together, and synced once. */

import { faultPoint } from "../../core/fault-point.js";
import { StoreError } from "../../errors.js";
import type { Clock } from "../../store.js";
import type { SqliteDatabase } from "./driver.js";
import { asStoreError, driverError, isBusy, sqliteCode } from "./failure.js";
import { BUSY_TIMEOUT } from "./schema.js";
import { NeedsStrict, type Transaction } from "./transaction.js";

/** Rows per transaction: enough to share a sync, and short enough not to hold the event loop. */
const BATCH = 256;
/** How long a verb waits for other writers, in milliseconds, before it fails as `stalled`. */
const PATIENCE = 10_000;
/** The longest pause between two tries, in milliseconds. */
const PAUSE = 40;

/** What one verb wants to have done. `run` may be called again after a transaction that came to nothing. */
export interface Work<T> {
  run(tx: Transaction): T;
  /** Whether it may write. */
  readonly writes: boolean;
  /** Whether its write has to be synced; looked at right before each try. */
  strict?(): boolean;
  /** How many rows it touches. @defaultValue 1 */
  readonly weight?: number | undefined;
  /** The operation in question, for errors. */
  readonly id?: string | undefined;
}

/** Answers with what has to be done once it is committed. */
type Beside = (tx: Transaction) => (() => void) | undefined;

interface Job {
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
  /** What `#waited` stood at when it came. */
  readonly since: number;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The one queue of a connection. */
export class Queue {
  readonly #db: SqliteDatabase;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #tx: Transaction;
  #jobs: Job[] = [];
  #draining: Promise<void> | undefined;
  /** The time spent waiting for other writers. Counted rather than read off a clock, which may jump. */
  #waited = 0;
  #strict: boolean | undefined;

  readonly #beside: Beside;

  /** @param beside - what each synced transaction does besides */
  constructor(db: SqliteDatabase, tx: Transaction, path: string, clock: Clock, beside: Beside) {
    this.#db = db;
    this.#tx = tx;
    this.#path = path;
    this.#clock = clock;
    this.#beside = beside;
  }

  add<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ work, resolve, reject, since: this.#waited });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#draining) await this.#draining;
  }

  async #drain(): Promise<void> {
    do {
      await turn();
      const batch = this.#batch();
      await this.#commit(batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(error);
      });
    } while (this.#jobs.length > 0);
    this.#draining = undefined;
  }

  #batch(): Job[] {
    let weight = 0;
    const end = this.#jobs.findIndex(({ work }) => {
      weight += work.weight ?? 1;
      return weight > BATCH;
    });
    return this.#jobs.splice(0, end < 0 ? this.#jobs.length : Math.max(end, 1));
  }

  /** Tries until it is done, someone else's lock permitting. */
  async #commit(batch: Job[]): Promise<void> {
    for (let pause = 2; ; pause = Math.min(pause * 2, PAUSE)) {
      try {
        return this.#transact(batch);
      } catch (error) {
        if (isBusy(error)) {
          batch = this.#patient(batch, error);
        } else if (batch.length > 1 && !(error instanceof UnknownFate)) {
          for (const job of batch) await this.#commit([job]);
          return;
        } else {
          for (const { reject, work } of batch) reject(this.#reason(error, work.id));
          return;
        }
      }
      if (batch.length === 0) return;
      // Not the same pause for everyone, or those who met once meet again.
      const wait = pause * (0.5 + Math.random());
      await this.#clock.sleep(wait);
      this.#waited += wait + BUSY_TIMEOUT;
    }
  }

  /** Those who may wait longer; the others are told. */
  #patient(batch: Job[], cause: unknown): Job[] {
    return batch.filter(({ reject, since }) => {
      if (this.#waited - since < PATIENCE) return true;
      reject(new StoreError("stalled", { detail: `${this.#path}: another process has held it for too long`, cause }));
      return false;
    });
  }

  #transact(batch: Job[]): void {
    const strict = batch.some(({ work }) => work.writes && (work.strict?.() ?? true));
    try {
      this.#once(batch, strict);
    } catch (error) {
      if (!(error instanceof NeedsStrict)) throw error;
      this.#once(batch, true);
    }
  }

  /** One transaction, all or nothing. A verb that fails before it has written anything fails alone. */
  #once(batch: Job[], strict: boolean): void {
    const answers: unknown[] = [];
    let failed: Set<Job> | undefined;
    const writes = batch.some(({ work }) => work.writes);
    let committed: (() => void) | undefined;
    if (writes) this.#level(strict);
    this.#tx.reset(strict);
    this.#begin(writes);
    FAULT: if (writes) faultPoint("group:begun");
    try {
      for (const job of batch) {
        const before = this.#tx.writes;
        try {
          answers.push(job.work.run(this.#tx));
          FAULT: if (job.work.writes) faultPoint("group:row");
        } catch (error) {
          if (this.#tx.writes > before || sqliteCode(error) !== undefined || error instanceof NeedsStrict) throw error;
          answers.push(error);
          failed ??= new Set();
          failed.add(job);
        }
      }
      if (writes && strict) committed = this.#beside(this.#tx);
      this.#tx.flush();
    } catch (error) {
      this.#rollback();
      throw error;
    }
    FAULT: if (writes) faultPoint("group:commit");
    this.#end();
    committed?.();
    FAULT: if (writes) faultPoint("group:committed");
    batch.forEach((job, i) => {
      if (failed?.has(job)) job.reject(answers[i]);
      else job.resolve(answers[i] as never);
    });
    FAULT: if (writes) faultPoint("group:told");
  }

  /** A transaction that began as a read and then writes would fail at once, without waiting, if anyone else writes. */
  #begin(writes: boolean): void {
    try {
      this.#db.exec(writes ? "begin immediate" : "begin");
    } catch (error) {
      throw driverError(error);
    }
  }

  #end(): void {
    try {
      this.#db.exec("commit");
    } catch (error) {
      this.#rollback();
      // Of these two it is known that nothing was committed.
      if (isBusy(error) || sqliteCode(error) === "FULL") throw error;
      throw new UnknownFate(undefined, { cause: error });
    }
  }

  #rollback(): void {
    try {
      this.#db.exec("rollback");
    } catch {
      // SQLite has rolled back by itself.
    }
  }

  /** Not with a prepared statement: that would take effect when it is prepared, and again when it is prepared anew. */
  #level(strict: boolean): void {
    if (this.#strict === strict) return;
    this.#db.exec(`pragma synchronous = ${strict ? "full" : "normal"}`);
    this.#strict = strict;
  }

  #reason(error: unknown, id: string | undefined): unknown {
    if (!(error instanceof UnknownFate)) return asStoreError(error, this.#path);
    const detail = `${this.#path}: the commit failed, and may have reached the disk`;
    return new StoreError("not_durable", { detail, id, cause: error.cause });
  }
}

/** A commit that failed in a way that does not tell whether it will be there after a crash. */
class UnknownFate extends Error {}
