/**
 * The Store port: a small set of atomic verbs. A store assigns `seq` and counts `rev`. Every store passes the same contract suite.
 *
 * Rules for implementers:
 * - A verb resolves only when its transaction is committed (and synced, where `needsSync` says so).
 * - Functions passed in are pure, synchronous and run inside the transaction; one that returns a thenable is refused.
 *   One that throws fails its own verb and changes nothing, even when it shares a transaction with others.
 * - Verbs called in one tick share one transaction (group commit), in the order in which they were called.
 * - A failed read throws; it never reads as "none".
 * - `lane`: a record inserted behind an unsettled one of its (owner, lane) is `parked`; when a record stops occupying
 *   its lane, the same transaction un-parks the next (lowest `seq`).
 * - Uniqueness, only while `holdsIntent`: (owner, name, intent) and (owner, origin, key). `id` always.
 */

import type { NewRecord, OperationRecord, State, StoredResponse } from "./core/record.js";

/** What a store is given when it is opened. */
export interface StoreContext {
  /** The sdk's name: names the default file or database. */
  readonly name: string;
  readonly clock: Clock;
}

/** The only source of time: no other timer is used anywhere. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * Resolves after `ms` milliseconds; rejects with the signal's reason when aborted.
   *
   * @param background - nobody waits for this: in Node it does not keep the process alive
   */
  sleep(ms: number, signal?: AbortSignal, background?: boolean): Promise<void>;
}

/** What became of {@link Store.insert}. */
export interface Inserted {
  /** The new record, or the one that already stood there. */
  readonly record: OperationRecord;
  /** By what the insert met an earlier record; absent when it is new. */
  readonly joined?: "id" | "intent" | "key" | undefined;
}

/** What {@link Store.claim} looks for: records due now, earliest first, or the named one. */
export interface ClaimQuery {
  readonly now: number;
  readonly limit: number;
  /** Whose; absent for everyone's. */
  readonly owner?: string | undefined;
  /** Exactly these, due or not, as long as no live lease holds them and they are not parked. */
  readonly ids?: readonly string[] | undefined;
  /** Leave these origins alone. */
  readonly exceptOrigins?: readonly string[] | undefined;
  /**
   * Leave alone what only these can read; see `readerOf`. What `apply` adds to the set is left alone from then on, within
   * the same claim too.
   */
  readonly exceptReaders?: ReadonlySet<string> | undefined;
}

/** What {@link Store.claim} did. */
export interface Claimed {
  /** The records after `apply`, in the order claimed. */
  readonly records: readonly OperationRecord[];
  /** When the next record of this query falls due; absent when none is waiting, or when `ids` were named. */
  readonly next?: number | undefined;
}

/** Narrows {@link Store.page}. All given conditions hold together. */
export interface PageFilter {
  readonly owner?: string | undefined;
  readonly name?: string | undefined;
  readonly intent?: string | undefined;
  readonly lane?: string | undefined;
  readonly states?: readonly State[] | undefined;
  /** @defaultValue 100 */
  readonly limit?: number | undefined;
  /** The `seq` after which to go on. */
  readonly after?: number | undefined;
}

/** What {@link Store.prunable} looks for. */
export interface PruneQuery {
  /** `prunableSince` is before this time. */
  readonly settledBefore: number;
  /** Those of which only the memory of the intent is left (`isBare`), or those that are whole. */
  readonly bare: boolean;
  /** Goes on behind this one, as an earlier answer had it. */
  readonly after?: OperationRecord | undefined;
  readonly limit: number;
}

/** What a new record must meet. */
export interface InsertLimits {
  /** So many may be pending or blocked at once, in the whole store. */
  readonly maxPending?: number | undefined;
}

/** How much room a store takes, and how much there is. What is not known is absent. */
export interface StorageFigures {
  /** Whether the browser has promised not to evict what is stored. */
  readonly persisted?: boolean | undefined;
  /** In bytes: of the file and its log, or of all that the origin stores in the browser. */
  readonly usage?: number | undefined;
  /** What `usage` can grow to, in bytes. */
  readonly quota?: number | undefined;
}

/** How many records of an owner stand in each state; states without any are absent. */
export type Counts = { readonly [S in State]?: number };

/**
 * A transaction of the caller's own, as much of it as is needed. A client of pg fits as it is; for others it is a function
 * of one line around what they have for SQL with `$1`.
 */
export interface CallerTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: drivers type their rows as any; anything narrower would refuse them
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: any[] }>;
}

/** What those who share a store tell each other. */
export type Message =
  | {
      readonly type: "changed";
      readonly id: string;
      /** Who holds it now. */
      readonly holder?: string | undefined;
      /** Nobody does, and there is work left on it. */
      readonly free?: boolean | undefined;
    }
  | { readonly type: "signout"; readonly owner: string };

/** A line to the others. What is said on it may get lost. */
export interface Channel {
  post(message: Message): void;
  close(): void;
}

/** What became of it when everything was to be sealed anew. */
export interface ResealReport {
  /** Records that were sealed under the first key just now. */
  readonly resealed: number;
  /** Records that could not be opened, or were worked on all the time, and stay as they are. */
  readonly left: number;
}

/** What the client has to have sealed beforehand: nothing can be waited for inside a transaction. */
export interface Sealing {
  /** The answer, sealed for the record of this id. */
  response(id: string, response: StoredResponse): Promise<StoredResponse>;
  /** The hash, sealed for the record of this id. */
  hash(id: string, hash: string): Promise<string>;
  /**
   * Some of those that a program without the key has blocked, although they open here. Asked again and again it goes round
   * all that are blocked, a page at a time, and rests between two rounds.
   */
  openable(): Promise<readonly OperationRecord[]>;
  /** Seals whatever is in the clear, or under another key than the first, under the first. Synced when it resolves. */
  reseal(): Promise<ResealReport>;
}

/** Seals what customers and servers wrote before it reaches a store, and opens it again. */
export interface Seal {
  /** The same store, seen from within the seal: what is read is open, as far as it can be opened. */
  over(store: Store): Store;
}

/** A durable place for records. Verbs reject with `StoreError`. */
export interface Store {
  /** Whether a record survives the process. */
  readonly durable: boolean;
  /** Only what a {@link Seal} has put around a store has it. */
  readonly sealing?: Sealing | undefined;
  /**
   * The time that everybody goes by who shares the store: needed where they may be on machines whose clocks differ. Called
   * once, before `open`, unless the program has named a clock.
   *
   * @param own - this machine's clock
   */
  clock?(own: Clock): Clock;
  /** Called once before any other verb; may be called again and is then a no-op. */
  open(context: StoreContext): Promise<void>;
  /**
   * Records a new operation, or answers with the one that holds its id, intent or key. Always synced. One that would be
   * more than `limits` allow is refused with `StoreError("store_full")`; to join is not.
   */
  insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted>;
  /**
   * As `insert`, but on the caller's own transaction, which alone decides whether it stands. Rejects with what the
   * transaction throws, as it is. Only stores that live in a database which programs use as well have it.
   */
  insertWithin?(tx: CallerTransaction, record: NewRecord, limits?: InsertLimits): Promise<Inserted>;
  /**
   * Takes due records that no live lease holds. A lease is over when its time has come, or when it ends much
   * later than now + its length: the clock has jumped back (`scheduleOf(record).since > now`, which leaves some seconds to
   * clocks that differ and to claims that wait). Waits are clamped in the same way.
   * Records for which `apply` returns its argument unchanged are skipped and not returned.
   */
  claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed>;
  /**
   * The one way to change a record. `apply` gets what stands in the store and returns what shall stand there: its
   * argument for "leave it", `undefined` for "remove it". Resolves to what stands there afterwards.
   *
   * `base`, when given, is what the caller believes stands there: a store may skip the read when `rev` proves it right.
   */
  update(
    id: string,
    apply: (record: OperationRecord) => OperationRecord | undefined,
    base?: OperationRecord,
  ): Promise<OperationRecord | undefined>;
  get(id: string): Promise<OperationRecord | undefined>;
  /** The latest operation of this intent, whether it still holds it or not. */
  find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined>;
  /** The unsettled operation at the front of a lane. */
  head(owner: string, lane: string): Promise<OperationRecord | undefined>;
  /** In `seq` order. */
  page(filter: PageFilter): Promise<readonly OperationRecord[]>;
  /** What has been over for longest comes first, then the lowest `seq`; looked up, however much else there is. */
  prunable(query: PruneQuery): Promise<readonly OperationRecord[]>;
  /** Maintained with every write, not counted. */
  counts(owner?: string): Promise<Counts>;
  /** A line to others with the same data, where the store has one. Once it is open. */
  openChannel?(receive: (message: Message) => void): Channel | undefined;
  /** Ends the leases of holders for which `isDead` says so; answers how many. */
  relieve(isDead: (holder: string) => boolean): Promise<number>;
  /** How much room there is, where the store can tell. */
  storage?(): Promise<StorageFigures>;
  close(): Promise<void>;
}
