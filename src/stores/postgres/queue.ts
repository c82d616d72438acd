/** Group commit: what is called in one turn of the event loop is committed together, and synced once. */

import { faultPoint } from "../../core/fault-point.js";
import type { NewRecord } from "../../core/record.js";
import type { CallerTransaction, Clock, Inserted, InsertLimits, Message } from "../../store.js";
import type { SharedClock } from "../shared-clock.js";
import { Attempt } from "./attempt.js";
import { type Outcome, perform, type Work } from "./batch.js";
import { connect, sessionOf } from "./driver.js";
import { asStoreError, isLost, PostgresFailure, UnknownFate } from "./failure.js";
import { refusals } from "./limits.js";
import { channelOf, Line, type PostgresListener, parcels } from "./listen.js";
import type { ResolvedPostgresOptions } from "./options.js";
import type { Tables } from "./schema.js";
import { type Statements, statementsFor } from "./statements.js";
import { additionOf, Transaction } from "./transaction.js";

/** Verbs per transaction. */
const BATCH = 256;
/** How long a verb waits for others' locks, in milliseconds, before it fails as `stalled`. */
const PATIENCE = 10_000;
/** The longest pause between two tries, in milliseconds. */
const PAUSE = 250;
/** How often a transaction is begun anew on another connection when the pool gave a dead one. */
const RECONNECTS = 3;
/** So many transactions that write, and what they counted is added up. */
const FOLD_EVERY = 200;

interface Job {
  readonly work: Work;
  readonly id: string | undefined;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
  /** How long it has been waiting for locks. Counted rather than read off a clock, which may jump. */
  waited: number;
}

/** The end of this turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The one queue of a store. */
export class Queue {
  readonly #options: ResolvedPostgresOptions;
  readonly #tables: Tables;
  readonly #clock: Clock;
  readonly #time: SharedClock | undefined;
  readonly #statements: Statements;
  #jobs: Job[] = [];
  /** The batch under way. */
  #committing: Promise<void> | undefined;
  #draining: Promise<void> | undefined;
  readonly #pausing = new Set<Promise<void>>();
  /** New records that wait for the next try of the first of them, by lane: those called later must not overtake it. */
  readonly #behind = new Map<string, Job[]>();
  // Not all processes at once.
  #untilFold = Math.ceil(Math.random() * FOLD_EVERY);

  constructor(options: ResolvedPostgresOptions, tables: Tables, clock: Clock, time?: SharedClock) {
    this.#options = options;
    this.#tables = tables;
    this.#clock = clock;
    this.#time = time;
    this.#statements = statementsFor(tables);
  }

  add<T>(work: Work, id?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ work, id, resolve, reject, waited: 0 });
      this.#draining ??= this.#drain();
    });
  }

  /** At once, on a transaction that is not ours to begin or end. */
  async within(caller: CallerTransaction, record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    const tx = new Transaction(sessionOf(caller), this.#tables, this.#statements);
    try {
      for (const refused of (await refusals(tx, [{ record, limits }])).values()) throw refused;
      const [inserted] = await tx.insert([additionOf(record)]);
      // Whoever hears of it hears of a commit.
      const news: Message = { type: "changed", id: record.id, free: true };
      if (this.#options.notify && !inserted?.joined) await tx.notify(parcels([news]));
      return inserted as Inserted;
    } catch (error) {
      throw error instanceof PostgresFailure ? error.cause : error;
    }
  }

  openLine(listener: PostgresListener | undefined, receive: (message: Message) => void): Line {
    const tell = async (texts: readonly string[]): Promise<void> => {
      if (this.#options.notify) await this.add({ kind: "read", run: (tx) => tx.notify(texts) });
    };
    return new Line(channelOf(this.#tables), listener, this.#clock, receive, tell);
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#draining || this.#pausing.size > 0) await Promise.all([this.#draining, ...this.#pausing]);
  }

  async #drain(): Promise<void> {
    do {
      await turn();
      this.#committing = this.#commit(this.#jobs.splice(0, BATCH));
      await this.#committing;
      if (this.#untilFold <= 0) await this.#fold();
    } while (this.#jobs.length > 0);
    this.#draining = undefined;
  }

  async #commit(given: readonly Job[]): Promise<void> {
    const batch = given.filter((job) => !this.#waitsBehind(job));
    if (batch.length === 0) return;
    try {
      const outcomes = await this.#transact(batch.map(({ work }) => work));
      batch.forEach(({ resolve, reject, id }, i) => {
        const outcome = outcomes[i] as Outcome;
        if ("error" in outcome) reject(asStoreError(outcome.error, id));
        else resolve(outcome.value as never);
      });
      FAULT: if (batch.some(({ work }) => work.kind !== "read")) faultPoint("group:told");
    } catch (error) {
      if (batch.length > 1 && !(error instanceof UnknownFate) && !isLost(error)) {
        for (const job of batch) await this.#commit([job]);
        return;
      }
      for (const job of batch) this.#failed(job, error);
    }
  }

  #failed(job: Job, error: unknown): void {
    if (!(error instanceof PostgresFailure && error.isContention) || job.waited >= PATIENCE) {
      job.reject(asStoreError(error, job.id));
      return;
    }
    // Not the same pause for everyone, or those who met once meet again. The others need not wait for it.
    const wait = PAUSE * (0.2 + 0.8 * Math.random());
    job.waited += wait + PAUSE;
    const lane = laneOf(job.work);
    const waiting = [job];
    if (lane !== undefined) this.#behind.set(lane, waiting);
    const pausing = this.#clock.sleep(wait).then(async () => {
      // One of its lane may still be met in the batch, and has to stay behind it.
      await this.#committing;
      this.#pausing.delete(pausing);
      if (lane !== undefined) this.#behind.delete(lane);
      this.#jobs.unshift(...waiting);
      this.#draining ??= this.#drain();
    });
    this.#pausing.add(pausing);
  }

  /** Whether another of its lane is to be recorded first; it is then done after that one. */
  #waitsBehind(job: Job): boolean {
    const lane = laneOf(job.work);
    const waiting = lane === undefined ? undefined : this.#behind.get(lane);
    waiting?.push(job);
    return waiting !== undefined;
  }

  async #transact(works: readonly Work[]): Promise<Outcome[]> {
    const writes = works.some(({ kind }) => kind !== "read");
    for (let left = RECONNECTS; ; left -= 1) {
      const session = await connect(this.#options.pool, this.#clock);
      const attempt = new Attempt(session, this.#clock, this.#time);
      try {
        return await attempt.within(() => this.#once(attempt, works, writes));
      } catch (error) {
        if (attempt.begun || !isLost(error) || left === 0) throw error;
      }
    }
  }

  /** One transaction, all or nothing. Reads alone need none: each sees what is committed. */
  async #once(attempt: Attempt, works: readonly Work[], writes: boolean): Promise<Outcome[]> {
    if (writes) await attempt.begin();
    const tx = new Transaction(attempt, this.#tables, this.#statements);
    const outcomes = await perform(tx, works);
    if (writes) await attempt.commit(tx.strict);
    if (tx.writes > 0) this.#untilFold -= 1;
    return outcomes;
  }

  async #fold(): Promise<void> {
    this.#untilFold = FOLD_EVERY;
    // What is not added up now is the next time.
    await this.#transact([{ kind: "write", run: (tx) => tx.fold() }]).catch(() => {});
  }
}

/** Whom a new record has to stay behind, if it is in a lane. */
function laneOf(work: Work): string | undefined {
  if (work.kind !== "insert" || work.record.lane === undefined) return undefined;
  return JSON.stringify([work.record.owner, work.record.lane]);
}
