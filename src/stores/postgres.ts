/** The store for fleets: tables in a Postgres, which any number of processes on any number of machines share. */

import type { NewRecord, OperationRecord } from "../core/record.js";
import { MisuseError, StoreError } from "../errors.js";
import type {
  CallerTransaction,
  Channel,
  Claimed,
  ClaimQuery,
  Clock,
  Counts,
  Inserted,
  InsertLimits,
  Message,
  PageFilter,
  PruneQuery,
  Store,
  StoreContext,
} from "../store.js";
import type { Work } from "./postgres/batch.js";
import { claim } from "./postgres/claim.js";
import { connect } from "./postgres/driver.js";
import { asStoreError, isLost } from "./postgres/failure.js";
import type { Line } from "./postgres/listen.js";
import { type PostgresStoreOptions, type ResolvedPostgresOptions, resolveOptions } from "./postgres/options.js";
import { page } from "./postgres/page.js";
import { Queue } from "./postgres/queue.js";
import { prepare, tablesOf } from "./postgres/schema.js";
import { learnTime } from "./postgres/time.js";
import type { Transaction } from "./postgres/transaction.js";
import { counts, find, head, prunable, relieve } from "./postgres/verbs.js";
import { SharedClock } from "./shared-clock.js";

export type {
  PostgresConnection,
  PostgresJs,
  PostgresPool,
  PostgresResult,
  ReservedPostgresJs,
} from "./postgres/driver.js";
export type { PostgresJsListener, PostgresListenClient, PostgresListener } from "./postgres/listen.js";
export type { PostgresStoreOptions } from "./postgres/options.js";

/**
 * A durable store in a Postgres database (12 or later). A verb that `needsSync` resolves once its commit is synced; the others
 * are committed without waiting for that, and a crash of the database can lose the latest of them, which costs one replay each.
 *
 * Sdks of one name share their operations, those of other names only the tables. Works behind PgBouncer in transaction
 * mode.
 *
 * @throws MisuseError `bad_option`, naming the option
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  return new PostgresStore(resolveOptions(options));
}

class PostgresStore implements Store {
  readonly durable = true;
  readonly #options: ResolvedPostgresOptions;
  #opening: Promise<Queue> | undefined;
  #queue: Queue | undefined;
  #line: Line | undefined;
  /** The database's time, unless the program has a clock of its own. */
  #time: SharedClock | undefined;

  constructor(options: ResolvedPostgresOptions) {
    this.#options = options;
  }

  clock(own: Clock): Clock {
    this.#time ??= new SharedClock(own);
    return this.#time;
  }

  async open(context: StoreContext): Promise<void> {
    this.#opening ??= this.#open(context);
    const opening = this.#opening;
    try {
      const queue = await opening;
      if (this.#opening === opening) this.#queue = queue;
    } catch (error) {
      // The cause may be gone by the next try.
      if (this.#opening === opening) this.#opening = undefined;
      throw asStoreError(error);
    }
  }

  async #open({ name, clock }: StoreContext): Promise<Queue> {
    const { pool, schema } = this.#options;
    let tables = tablesOf(schema, name);
    const session = await connect(pool, clock);
    let lost = false;
    try {
      tables = await prepare(session, tables);
      await learnTime(session, this.#time);
    } catch (error) {
      lost = isLost(error);
      throw error;
    } finally {
      session.release(lost);
    }
    return new Queue(this.#options, tables, clock, this.#time);
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    this.#queue = undefined;
    this.#line?.close();
    this.#line = undefined;
    const queue = await opening?.catch(() => undefined);
    await queue?.idle();
  }

  insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    return this.#do({ kind: "insert", record, limits }, record.id);
  }

  async insertWithin(tx: CallerTransaction, record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    if (!this.#queue) throw new StoreError("unavailable", { detail: "the Postgres store is not open" });
    if (Object.is(tx, this.#options.pool)) {
      throw new MisuseError("bad_option", {
        detail:
          "`tx` is the store's pool, where each statement commits by itself: give the connection that BEGIN was sent on",
      });
    }
    return this.#queue.within(tx, record, limits);
  }

  openChannel(receive: (message: Message) => void): Channel | undefined {
    const { listen, notify } = this.#options;
    if (!this.#queue || !(listen || notify)) return undefined;
    this.#line ??= this.#queue.openLine(listen, receive);
    return this.#line;
  }

  claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed> {
    return this.#write((tx) => claim(tx, query, apply));
  }

  update(
    id: string,
    apply: (record: OperationRecord) => OperationRecord | undefined,
    base?: OperationRecord,
  ): Promise<OperationRecord | undefined> {
    return this.#do({ kind: "update", id, apply, base }, id);
  }

  get(id: string): Promise<OperationRecord | undefined> {
    return this.#read((tx) => tx.get(id));
  }

  find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined> {
    return this.#read((tx) => find(tx, owner, name, intent));
  }

  head(owner: string, lane: string): Promise<OperationRecord | undefined> {
    return this.#read((tx) => head(tx, owner, lane));
  }

  page(filter: PageFilter): Promise<readonly OperationRecord[]> {
    return this.#read((tx) => page(tx, filter));
  }

  prunable(query: PruneQuery): Promise<readonly OperationRecord[]> {
    return this.#read((tx) => prunable(tx, query));
  }

  counts(owner?: string): Promise<Counts> {
    return this.#read((tx) => counts(tx, owner));
  }

  relieve(isDead: (holder: string) => boolean): Promise<number> {
    return this.#write((tx) => relieve(tx, isDead));
  }

  #read<T>(run: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#do({ kind: "read", run });
  }

  #write<T>(run: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#do({ kind: "write", run });
  }

  async #do<T>(work: Work, id?: string): Promise<T> {
    if (!this.#queue) throw new StoreError("unavailable", { detail: "the Postgres store is not open" });
    return this.#queue.add<T>(work, id);
  }
}
