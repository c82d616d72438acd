import type { NewRecord, OperationRecord } from "../core/record.js";
import { needsSync } from "../core/record.js";
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
import { claim } from "./indexeddb/claim.js";
import { Connection } from "./indexeddb/connection.js";
import { toStoreError } from "./indexeddb/errors.js";
import { Queue } from "./indexeddb/queue.js";
import type { Verb } from "./indexeddb/transaction.js";
import { counts, endWalk, insert, prunable, relieve, update, type Walk, walkOn } from "./indexeddb/verbs.js";
import type { Work } from "./indexeddb/work.js";
import { mostBeside } from "./stamp.js";

/** Options of {@link indexedDbStore}. */
export interface IndexedDbOptions {
  /**
   * Names the database: `samekey:<name>`.
   *
   * @defaultValue the sdk's name
   */
  readonly name?: string | undefined;
}

/** A {@link Store} in IndexedDB, and what only a browser has to tell. */
export interface IndexedDbStore extends Store {
  /**
   * Whether the database was found empty although it once held records: the browser evicted it, or somebody cleared
   * it. Known once `open` has resolved; `false` where nothing outside of IndexedDB can remember (workers).
   */
  readonly reset: boolean;
  /**
   * Whether the browser has promised not to evict the database. It is asked at the first insert; `undefined` until it
   * has answered, or where it cannot be asked.
   */
  readonly persisted: boolean | undefined;
}

/**
 * A store in the browser's IndexedDB, for pages and workers. All stores of one name in a realm share one connection,
 * all tabs of an origin the same records.
 */
export function indexedDbStore(options: IndexedDbOptions = {}): IndexedDbStore {
  return new IndexedDb(options);
}

type Apply<After> = (record: OperationRecord) => After;

class IndexedDb implements IndexedDbStore {
  readonly durable = true;
  readonly #name: string | undefined;
  #queue: Queue | undefined;
  #persisted: boolean | undefined;
  #saved = false;

  constructor({ name }: IndexedDbOptions) {
    this.#name = name;
  }

  get reset(): boolean {
    return this.#queue?.connection.reset === true;
  }

  get persisted(): boolean | undefined {
    return this.#persisted;
  }

  async open({ name, clock }: StoreContext): Promise<void> {
    this.#queue ??= new Queue(new Connection(this.#name ?? name, clock), clock);
    await this.#queue.connection.database().catch(async (error) => {
      throw await toStoreError(error);
    });
  }

  async close(): Promise<void> {
    const queue = this.#queue;
    this.#queue = undefined;
    await queue?.close();
  }

  async insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    const connection = this.#queue?.connection;
    const together = record.lane === undefined && mostBeside(record, limits) === undefined;
    const inserted = await this.#do((work) => insert(work, record, limits), { strict: true, together });
    if (!this.#saved) this.#keep(connection);
    return inserted;
  }

  claim(query: ClaimQuery, apply: Apply<OperationRecord>): Promise<Claimed> {
    return this.#do((work) => claim(work, query, apply));
  }

  update(
    id: string,
    apply: Apply<OperationRecord | undefined>,
    base?: OperationRecord,
  ): Promise<OperationRecord | undefined> {
    return this.#do((work) => update(work, id, apply, base), { strict: expectsSync(apply, base) });
  }

  get(id: string): Promise<OperationRecord | undefined> {
    return this.#read((work) => work.first("unique", ["id", id]));
  }

  find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined> {
    return this.#read((work) => work.first("places", ["named", owner, name, intent], "prev"));
  }

  head(owner: string, lane: string): Promise<OperationRecord | undefined> {
    return this.#read((work) => work.first("places", ["front", owner, lane]));
  }

  async page(filter: PageFilter): Promise<readonly OperationRecord[]> {
    let walk: Walk = { found: [] };
    do {
      const from = walk;
      walk = await this.#read((work) => walkOn(work, filter, from));
    } while (!walk.done);
    return endWalk(walk, filter.limit);
  }

  prunable(query: PruneQuery): Promise<readonly OperationRecord[]> {
    return this.#read((work) => prunable(work, query));
  }

  counts(owner?: string): Promise<Counts> {
    return this.#read((work) => counts(work, owner));
  }

  async storage(): Promise<StorageFigures> {
    const { storage } = globalThis.navigator ?? {};
    const [figures, persisted] = await Promise.all([storage?.estimate?.(), storage?.persisted?.()]);
    return { persisted, usage: figures?.usage, quota: figures?.quota };
  }

  relieve(isDead: (holder: string) => boolean): Promise<number> {
    return this.#do((work) => relieve(work, isDead));
  }

  #read<T>(run: (work: Work) => Promise<T>): Promise<T> {
    return this.#do(run, { writes: false });
  }

  #do<T>(run: (work: Work) => Promise<T>, how: Partial<Verb<T>> = {}): Promise<T> {
    if (this.#queue) return this.#queue.submit({ writes: true, strict: false, together: false, ...how, run });
    return Promise.reject(new StoreError("unavailable", { detail: "the store is not open" }));
  }

  /** There is something to lose from now on. */
  #keep(connection: Connection | undefined): void {
    this.#saved = true;
    connection?.plantCanary();
    globalThis.navigator?.storage?.persist?.().then(
      (persisted) => {
        this.#persisted = persisted;
      },
      () => {},
    );
  }
}

/** Whether an update will need syncing, if its base is right; it is begun anew if not. */
function expectsSync(apply: Apply<OperationRecord | undefined>, base: OperationRecord | undefined): boolean {
  try {
    const after = base && apply(base);
    return after !== undefined && needsSync(base, after);
  } catch {
    return false;
  }
}
