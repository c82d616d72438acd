/** The store for Node: one file, through better-sqlite3 or `node:sqlite`. */

import type { NewRecord, OperationRecord } from "../core/record.js";
import { StoreError } from "../errors.js";
import type {
  Claimed,
  ClaimQuery,
  Counts,
  Inserted,
  InsertLimits,
  PageFilter,
  PruneQuery,
  StorageFigures,
  Store,
  StoreContext,
} from "../store.js";
import { claim } from "./sqlite/claim.js";
import { type Connection, connect } from "./sqlite/connection.js";
import { type ResolvedSqliteOptions, resolveOptions, type SqliteStoreOptions } from "./sqlite/options.js";
import { endWalk, readSome, startWalk, walkOn } from "./sqlite/page.js";
import { defaultPath, roomAt } from "./sqlite/place.js";
import type { Work } from "./sqlite/queue.js";
import { counts, find, head, prunable, relieve, updating } from "./sqlite/verbs.js";
import { isListed } from "./stamp.js";

export type {
  SqliteDatabase,
  SqliteDriver,
  SqliteDriverOption,
  SqliteStatement,
  SqliteValue,
} from "./sqlite/driver.js";
export type { SqliteStoreOptions } from "./sqlite/options.js";

/**
 * A durable store in one SQLite file, which several processes of one machine may share. A verb that `needsSync`
 * resolves once its bytes are on the disk; a power cut can lose no more than the latest successes and reschedulings,
 * which costs one replay each.
 *
 * Stores of one path in a process share one connection.
 *
 * @throws MisuseError `bad_option`, naming the option
 */
export function sqliteStore(options: SqliteStoreOptions = {}): Store {
  return new SqliteStore(resolveOptions(options));
}

class SqliteStore implements Store {
  readonly durable = true;
  readonly #options: ResolvedSqliteOptions;
  #connecting: Promise<Connection> | undefined;
  #connection: Connection | undefined;

  constructor(options: ResolvedSqliteOptions) {
    this.#options = options;
  }

  async open({ name, clock }: StoreContext): Promise<void> {
    const { path = defaultPath(name), driver } = this.#options;
    this.#connecting ??= connect(path, driver, clock);
    const connecting = this.#connecting;
    try {
      const connection = await connecting;
      if (this.#connecting === connecting) this.#connection = connection;
    } catch (error) {
      // The cause may be gone by the next try.
      if (this.#connecting === connecting) this.#connecting = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    const connecting = this.#connecting;
    this.#connecting = undefined;
    this.#connection = undefined;
    const connection = await connecting?.catch(() => undefined);
    await connection?.idle();
    await connection?.release();
  }

  insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    return this.#do({ writes: true, id: record.id, run: (tx) => tx.insert(record, limits) });
  }

  claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed> {
    return this.#do({ writes: true, weight: query.limit, run: (tx) => claim(tx, query, apply) });
  }

  update(
    id: string,
    apply: (record: OperationRecord) => OperationRecord | undefined,
    base?: OperationRecord,
  ): Promise<OperationRecord | undefined> {
    return this.#do(updating(id, apply, base));
  }

  get(id: string): Promise<OperationRecord | undefined> {
    return this.#do({ writes: false, run: (tx) => tx.record("o.id = ?", id) });
  }

  find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined> {
    return this.#do({ writes: false, run: (tx) => find(tx, owner, name, intent) });
  }

  head(owner: string, lane: string): Promise<OperationRecord | undefined> {
    return this.#do({ writes: false, run: (tx) => head(tx, owner, lane) });
  }

  async page(filter: PageFilter): Promise<readonly OperationRecord[]> {
    const { limit = 100 } = filter;
    const records: OperationRecord[] = [];
    for (let { after } = filter; records.length < limit; ) {
      const wanted = limit - records.length;
      const seqs = await this.#seqs({ ...filter, after, limit: wanted });
      for (let at = 0; at < seqs.length; ) {
        const rest = seqs.slice(at);
        const some = await this.#do({ writes: false, run: (tx) => readSome(tx, rest) });
        at += some.length;
        // It may have changed, or gone, since it was found.
        for (const record of some) if (record && isListed(record, filter)) records.push(record);
      }
      if (seqs.length < wanted) break;
      after = seqs.at(-1);
    }
    return records;
  }

  prunable(query: PruneQuery): Promise<readonly OperationRecord[]> {
    return this.#do({ writes: false, run: (tx) => prunable(tx, query) });
  }

  counts(owner?: string): Promise<Counts> {
    return this.#do({ writes: false, run: (tx) => counts(tx, owner) });
  }

  async storage(): Promise<StorageFigures> {
    if (!this.#connection) throw notOpen();
    return roomAt(this.#connection.path);
  }

  relieve(isDead: (holder: string) => boolean): Promise<number> {
    return this.#do({ writes: true, run: (tx) => relieve(tx, isDead) });
  }

  async #seqs(filter: PageFilter): Promise<number[]> {
    let walk = startWalk(filter);
    do {
      const from = walk;
      walk = await this.#do({ writes: false, run: (tx) => walkOn(tx, from) });
    } while (walk.states.length > 0);
    return endWalk(walk);
  }

  #do<T>(work: Work<T>): Promise<T> {
    if (this.#connection) return this.#connection.run(work);
    return Promise.reject(notOpen());
  }
}

const notOpen = (): StoreError => new StoreError("unavailable", { detail: "the SQLite store is not open" });
