import type { UseStore } from "idb-keyval";
import { get, promisifyRequest } from "idb-keyval";
import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { needsSync, occupiesLane } from "../../core/record.js";
import { StoreError } from "../../errors.js";
import type { Inserted } from "../../store.js";
import { changesIdentity, keepsPlace, leadsLane, stampChange, stampNew } from "../stamp.js";
import type { CountsRow, IndexName, Row } from "./schema.js";
import { COUNTS, laneKey, meetingPoints, OPERATIONS, toRecord, toRow } from "./schema.js";

/** Thrown by a write that must be synced, in a transaction that is not strict. */
export const mustSync: unique symbol = Symbol("must sync");

/**
 * What verbs do within one transaction. Only requests of that transaction are awaited here: anything else would let it
 * commit half-way.
 */
export class Work {
  /** Rows of counts, for idb-keyval's functions. */
  readonly counts: UseStore;
  /** How many writes were placed: once there are any, a verb that fails can no longer fail alone. */
  writes = 0;
  readonly #operations: IDBObjectStore;
  readonly #counts: IDBObjectStore;
  readonly #strict: boolean;
  readonly #changes = new Map<string, { row: Promise<CountsRow | undefined>; by: Map<State, number> }>();

  constructor(transaction: IDBTransaction, strict: boolean) {
    this.#operations = transaction.objectStore(OPERATIONS);
    this.#counts = transaction.objectStore(COUNTS);
    this.#strict = strict;
    this.counts = async (_mode, callback) => callback(this.#counts);
  }

  async get(seq: number): Promise<OperationRecord | undefined> {
    const row = await get<Row>(seq, async (_mode, callback) => callback(this.#operations));
    return row && toRecord(row, seq);
  }

  /** The first record under a key of an index, or with `"prev"` the last. */
  async first(
    index: IndexName,
    key: IDBValidKey,
    direction?: IDBCursorDirection,
  ): Promise<OperationRecord | undefined> {
    const cursor = await promisifyRequest(this.#operations.index(index).openCursor(key, direction));
    return cursor ? toRecord(cursor.value, cursor.primaryKey) : undefined;
  }

  /** Visits an index in its order; `visit` moves the cursor on. */
  async walk(
    index: IndexName,
    range: IDBKeyRange | null,
    visit: (cursor: IDBCursorWithValue, record: OperationRecord) => void,
  ): Promise<void> {
    const request = this.#operations.index(index).openCursor(range);
    for (let cursor = await promisifyRequest(request); cursor; cursor = await promisifyRequest(request)) {
      visit(cursor, toRecord(cursor.value, cursor.primaryKey));
    }
  }

  /** The `seq` of every record in a range of an index, lowest first. */
  async seqs(index: IndexName, range: IDBKeyRange): Promise<number[]> {
    const seqs = await promisifyRequest(this.#operations.index(index).getAllKeys(range));
    return (seqs as number[]).sort((a, b) => a - b);
  }

  /** Adds a record, by one request unless it has a lane; `undefined` where it would meet an earlier one. */
  async add(record: NewRecord): Promise<OperationRecord | undefined> {
    const stored = stampNew(record, 0, record.lane !== undefined && (await this.#mustPark(record as OperationRecord)));
    const request = this.#operations.add(toRow(stored));
    this.writes++;
    this.#countsOf(stored.owner);
    const seq = await unlessRefused(request);
    if (seq === undefined) return undefined;
    this.#count(stored, 1);
    return { ...stored, seq: seq as number };
  }

  /** The earlier record that stands where a new one would. */
  async met(record: NewRecord): Promise<Inserted | undefined> {
    for (const [joined, key] of meetingPoints(record)) {
      const earlier = await this.first(joined, key);
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
      this.#count(before, -1);
    }
    if (leadsLane(before) && !(stored && keepsPlace(before, stored))) {
      const next = await this.first("lane", laneKey(before, 1));
      if (next) await this.#put(next, stampChange(next, next, false));
    }
    return stored;
  }

  /** Writes the counts that have changed: once per transaction, however many records did. */
  async flush(): Promise<void> {
    const changes = [...this.#changes];
    this.#changes.clear();
    for (const [owner, { row, by }] of changes) {
      const counts: Record<string, number> = { ...(await row) };
      for (const [state, n] of by) {
        counts[state] = (counts[state] ?? 0) + n;
        if (counts[state] === 0) delete counts[state];
      }
      if (by.size > 0) this.#counts.put(counts, owner);
    }
  }

  async #put(before: OperationRecord, after: OperationRecord): Promise<OperationRecord> {
    if (!this.#strict && needsSync(before, after)) throw mustSync;
    this.#countsOf(after.owner);
    const put = (holds?: boolean) => unlessRefused(this.#operations.put(toRow(after, holds), after.seq));
    this.writes++;
    if ((await put()) === undefined) {
      if (changesIdentity(before, after)) throw await this.#taken(after);
      // It had ended without holding its intent, and turns out to have succeeded: that must be told all the same.
      await put(false);
    }
    this.#count(before, -1);
    this.#count(after, 1);
    return after;
  }

  /** Whether somebody stands at the front of a lane that the record enters. */
  async #mustPark(record: OperationRecord): Promise<boolean> {
    return occupiesLane(record) && (await this.first("lane", laneKey(record, 0))) !== undefined;
  }

  async #taken(record: OperationRecord): Promise<StoreError> {
    const holder = (await this.met({ ...record, id: "" }))?.record;
    const detail = `operation ${holder?.id} of the same owner already holds this intent or key`;
    return new StoreError("unavailable", { detail, record: holder });
  }

  /** Asks for an owner's counts early, so that the answer is there when they are written. */
  #countsOf(owner: string): Map<State, number> {
    let change = this.#changes.get(owner);
    if (!change) {
      const row = get<CountsRow>(owner, this.counts);
      // Awaited in `flush`, which an aborted transaction never reaches.
      row.catch(() => {});
      change = { row, by: new Map() };
      this.#changes.set(owner, change);
    }
    return change.by;
  }

  #count({ owner, state }: OperationRecord, n: number): void {
    const by = this.#countsOf(owner);
    by.set(state, (by.get(state) ?? 0) + n);
  }
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
