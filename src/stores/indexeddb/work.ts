import type { UseStore } from "idb-keyval";
import { get, promisifyRequest, values } from "idb-keyval";
import { changed, whole } from "../../core/fields.js";
import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { needsSync, occupiesLane } from "../../core/record.js";
import type { Inserted } from "../../store.js";
import { changesIdentity, keepsPlace, leadsLane, stampChange, stampNew, taken } from "../stamp.js";
import type { CountsRow, IndexName, Row } from "./schema.js";
import { BASE, COUNTS, countsKey, heldBy, meetingPoints, OPERATIONS, toRow, under } from "./schema.js";

/** One of so many changes of the counts folds the log of all before it. */
const FOLD_EVERY = 32;

/** Thrown by a write that must be synced, in a transaction that is not strict. */
export const mustSync: unique symbol = Symbol("must sync");

/**
 * What verbs do within one transaction. Only requests of that transaction are awaited here: anything else would let it
 * commit half-way.
 */
export class Work {
  /** How many writes were placed: once there are any, a verb that fails can no longer fail alone. */
  writes = 0;
  readonly #operations: IDBObjectStore;
  readonly #counts: IDBObjectStore;
  readonly #strict: boolean;
  /** What each record that was read holds: while it is overtaken, less than it would. */
  readonly #held = new WeakMap<OperationRecord, readonly IDBValidKey[]>();
  #waitingBefore: number | undefined;
  #puts = 0;
  #change: CountsRow = new Map();
  #changeKey: [seq: number, rev: number] | undefined;

  constructor(transaction: IDBTransaction, strict: boolean) {
    this.#operations = transaction.objectStore(OPERATIONS);
    this.#counts = transaction.objectStore(COUNTS);
    this.#strict = strict;
  }

  async get(seq: number): Promise<OperationRecord | undefined> {
    const row = await get<Row>(seq, async (_mode, callback) => callback(this.#operations));
    return row && this.#read(row, seq);
  }

  /** The first record under a key of an index, or with `"prev"` the last. */
  async first(
    index: IndexName,
    key: IDBValidKey,
    direction?: IDBCursorDirection,
  ): Promise<OperationRecord | undefined> {
    const cursor = await promisifyRequest(this.#operations.index(index).openCursor(key, direction));
    return cursor ? this.#read(cursor.value, cursor.primaryKey) : undefined;
  }

  /** Visits places in their order; `visit` moves the cursor on, or ends it with `false`. */
  async walk(
    range: IDBKeyRange,
    visit: (cursor: IDBCursorWithValue, record: OperationRecord) => unknown,
  ): Promise<void> {
    const request = this.#operations.index("places").openCursor(range);
    for (let cursor = await promisifyRequest(request); cursor; cursor = await promisifyRequest(request)) {
      if (visit(cursor, this.#read(cursor.value, cursor.primaryKey)) === false) return;
    }
  }

  /** How many are pending or blocked, with what this transaction has changed. */
  async waiting(): Promise<number> {
    this.#waitingBefore ??= waitingIn(await this.counted()) - waitingIn(this.#change);
    return this.#waitingBefore + waitingIn(this.#change);
  }

  /** How many records there are, by {@link countsKey}. */
  async counted(): Promise<CountsRow> {
    const log: UseStore = async (_mode, callback) => callback(this.#counts);
    const sum: CountsRow = new Map();
    if ((await get(BASE, log)) === undefined) {
      const index = this.#operations.index("places");
      const request = index.openKeyCursor(under("state"), "nextunique");
      for (let cursor = await promisifyRequest(request); cursor; cursor = await promisifyRequest(request)) {
        const [, owner, state] = cursor.key as [string, string, State];
        sum.set(countsKey(owner, state), await promisifyRequest(index.count(cursor.key)));
        cursor.continue();
      }
      return sum;
    }
    for (const row of [...(await values<CountsRow>(log)), this.#change]) {
      for (const [what, n] of row) sum.set(what, (sum.get(what) ?? 0) + n);
    }
    return sum;
  }

  /** The `seq` of every record in a range of places, lowest first. */
  async seqs(range: IDBKeyRange): Promise<number[]> {
    const seqs = await promisifyRequest(this.#operations.index("places").getAllKeys(range));
    return (seqs as number[]).sort((a, b) => a - b);
  }

  /** Adds a record, by one request unless it has a lane; `undefined` where it would meet an earlier one. */
  async add(record: NewRecord): Promise<OperationRecord | undefined> {
    const stored = stampNew(record, 0, record.lane !== undefined && (await this.#mustPark(record as OperationRecord)));
    const request = this.#operations.add(toRow(stored));
    this.writes++;
    this.#puts++;
    const seq = await unlessRefused(request);
    if (seq === undefined) return undefined;
    const added = changed(stored, { seq: seq as number });
    this.#count(added, 1);
    return added;
  }

  /** The earlier record that stands where a new one would. */
  async met(record: NewRecord): Promise<Inserted | undefined> {
    for (const [joined, key] of meetingPoints(record)) {
      const earlier = await this.first("unique", key);
      if (earlier) return { record: earlier, joined };
    }
    return undefined;
  }

  /** Puts `after` in the place of `before`, or removes it, and lets the next of its lane step forward. */
  async replace(before: OperationRecord, after: OperationRecord | undefined): Promise<OperationRecord | undefined> {
    let stored: OperationRecord | undefined;
    if (after) {
      const keeps = keepsPlace(before, after);
      const parked = keeps ? before.parked === true : occupiesLane(after) && (await this.#mustPark(after));
      stored = await this.#put(before, stampChange(before, after, parked));
    } else {
      this.#operations.delete(before.seq);
      this.writes++;
      this.#count(changed(before, { rev: before.rev + 1 }), -1);
    }
    await this.#letGo(before, stored);
    if (leadsLane(before) && !(stored && keepsPlace(before, stored))) {
      const next = await this.first("places", ["behind", before.owner, before.lane as string]);
      if (next) await this.#put(next, stampChange(next, next, false));
    }
    return stored;
  }

  /**
   * Logs by how much the counts have changed, and now and then folds the log. Where nothing was written but removals, the
   * log is given up instead: to write a row of it a full store has no room.
   */
  async flush(): Promise<void> {
    if (!this.#changeKey) return;
    const [seq, rev] = this.#changeKey;
    if (this.#puts === 0) this.#counts.clear();
    else if ((seq + rev) % FOLD_EVERY === 0) {
      const sum = await this.counted();
      this.#counts.clear();
      this.#counts.put(sum, BASE);
    } else this.#counts.put(this.#change, this.#changeKey);
    this.#change = new Map();
    this.#changeKey = undefined;
    this.#waitingBefore = undefined;
  }

  async #put(before: OperationRecord, after: OperationRecord): Promise<OperationRecord> {
    if (!this.#strict && needsSync(before, after)) throw mustSync;
    const request = this.#write(after);
    // What the row holds already cannot be refused to it, so mostly there is nothing to wait for.
    const asks = heldBy(after).some((key) => !isAmong(key, this.#held.get(before)));
    if (asks && (await unlessRefused(request)) === undefined) {
      if (changesIdentity(before, after)) throw taken((await this.met({ ...after, id: "" }))?.record);
      // One that had let go, and turns out to have succeeded, must be told so although another has taken its place.
      this.#write(after, true);
    }
    this.#count(after, 1);
    this.#count(before, -1);
    return after;
  }

  #write(record: OperationRecord, overtaken?: boolean): IDBRequest<IDBValidKey> {
    const request = this.#operations.put(toRow(record, overtaken), record.seq);
    this.writes++;
    this.#puts++;
    return request;
  }

  /** What a record no longer holds goes to those that were overtaken by it. */
  async #letGo(before: OperationRecord, now: OperationRecord | undefined): Promise<void> {
    for (const key of this.#held.get(before) ?? []) {
      if (now && isAmong(key, heldBy(now))) continue;
      for (const seq of await this.seqs(IDBKeyRange.only(["overtaken", key]))) {
        const record = await this.get(seq);
        if (record) await unlessRefused(this.#write(record));
      }
    }
  }

  #read(row: Row, seq: IDBValidKey): OperationRecord {
    // Of all fields first: what a newer samekey has added is kept, whatever it has left out.
    const record = Object.assign(whole(row.record), { seq: seq as number });
    this.#held.set(record, row.unique.slice(1));
    return record;
  }

  /** Whether somebody stands at the front of a lane that the record enters. */
  async #mustPark(record: OperationRecord): Promise<boolean> {
    return (
      occupiesLane(record) && (await this.first("places", ["front", record.owner, record.lane as string])) !== undefined
    );
  }

  #count({ owner, state, seq, rev }: OperationRecord, n: 1 | -1): void {
    this.#changeKey ??= [seq, rev];
    this.#add(countsKey(owner, state), n);
  }

  #add(what: string, n: number): void {
    const sum = (this.#change.get(what) ?? 0) + n;
    if (sum === 0) this.#change.delete(what);
    else this.#change.set(what, sum);
  }
}

function waitingIn(row: CountsRow): number {
  let sum = 0;
  for (const [what, n] of row) if (/^(pending|blocked) /.test(what)) sum += n;
  return sum;
}

function isAmong(key: IDBValidKey, keys: readonly IDBValidKey[] = []): boolean {
  return keys.some((other) => indexedDB.cmp(key, other) === 0);
}

/** The key of a written row; `undefined` when a unique index refused it, which then does not end the transaction. */
async function unlessRefused(request: IDBRequest<IDBValidKey>): Promise<IDBValidKey | undefined> {
  const refused = () => request.error?.name === "ConstraintError";
  request.addEventListener("error", (event) => refused() && event.preventDefault());
  try {
    return await promisifyRequest(request);
  } catch (error) {
    if (refused()) return undefined;
    throw error;
  }
}
