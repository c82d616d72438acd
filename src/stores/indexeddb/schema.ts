/** What the database looks like: one row per operation under its `seq`, and a log of their numbers. */

import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { holdsIntent, isBare, occupiesLane, prunableSince, readerOf, scheduleOf } from "../../core/record.js";
import { holderOf } from "../stamp.js";

export const OPERATIONS = "operations";
export const COUNTS = "counts";

/**
 * Hundreds are breaking versions, ones are additions that older code can live with. Not 1: a database that something
 * else made under our name is thereby upgraded to ours, instead of lacking our object stores for ever.
 */
export const VERSION = 100;

/**
 * What stands under a `seq`: the record, whose own `seq` is not to be trusted, and the keys under which the two indexes
 * have it. Two that have many entries per row cost a write less than one index for each kind of entry.
 */
export interface Row {
  readonly record: OperationRecord;
  /** `id` first; then, while the record holds them, `intent` and `key`. */
  readonly unique: readonly IDBValidKey[];
  /**
   * `state`, `named` (its intent, held or not), `due`, `since`, `front` or `behind` in a lane, `kept` or `bare` once it may be pruned, `holder`, and
   * `overtaken` for what it would hold if another had not taken it.
   */
  readonly places: readonly IDBValidKey[];
}

export type IndexName = "unique" | "places";

/**
 * By how much one transaction changed the number of records, by {@link countsKey}. It stands under the `seq` and `rev`
 * of a record that was written: a key that comes once, so that nothing need be read to write it.
 */
export type CountsRow = Map<string, number>;

/** Under which the log begins. Where it does not, it is not to be trusted: what there is has to be counted. */
export const BASE: IDBValidKey = [0, 0];

export function countsKey(owner: string, state: State): string {
  return `${state} ${owner}`;
}

/** Creates what is not there yet. */
export function upgrade(database: IDBDatabase): void {
  if (!database.objectStoreNames.contains(COUNTS)) {
    // Of a database that has lost its log, the records are counted.
    const counts = database.createObjectStore(COUNTS);
    if (!database.objectStoreNames.contains(OPERATIONS)) counts.put(new Map(), BASE);
  }
  if (database.objectStoreNames.contains(OPERATIONS)) return;
  const operations = database.createObjectStore(OPERATIONS, { autoIncrement: true });
  for (const name of ["unique", "places"]) {
    operations.createIndex(name, name, { multiEntry: true, unique: name === "unique" });
  }
}

/** The row of a record; its key is the `seq`, which a new one gets from the key generator in the same request. */
export function toRow(record: OperationRecord, overtaken = false): Row {
  const { owner, origin, name, intent, lane } = record;
  const schedule = scheduleOf(record);
  const holder = holderOf(record);
  const held = heldBy(record);
  const places: IDBValidKey[] = [["state", owner, record.state]];
  if (schedule) {
    // An older samekey finds both kinds: it takes from the `since` places whatever `apply` calls due.
    const reader = readerOf(record);
    const queue = reader === "" ? [owner, origin] : [owner, origin, reader];
    places.push(["due", ...queue, schedule.due], ["since", ...queue, schedule.since]);
  }
  if (intent !== undefined) places.push(["named", owner, name, intent]);
  if (lane !== undefined && occupiesLane(record)) places.push([record.parked ? "behind" : "front", owner, lane]);
  const over = prunableSince(record);
  if (over !== undefined) places.push([isBare(record) ? "bare" : "kept", over]);
  if (holder !== undefined) places.push(["holder", holder]);
  if (overtaken) places.push(...held.map((key) => ["overtaken", key]));
  return { record, unique: [["id", record.id], ...(overtaken ? [] : held)], places };
}

/** What the record is unique by, besides its id, unless another has taken it. */
export function heldBy(record: OperationRecord): IDBValidKey[] {
  if (!holdsIntent(record)) return [];
  return meetingPoints(record).flatMap(([by, key]) => (by === "id" ? [] : [key]));
}

/** Where a record would meet an earlier one, in the order in which that is reported. */
export function meetingPoints(record: NewRecord): [by: "id" | "intent" | "key", key: IDBValidKey][] {
  const { id, owner, name, intent, origin, key } = record;
  const points: ReturnType<typeof meetingPoints> = [["id", ["id", id]]];
  if (intent !== undefined) points.push(["intent", ["intent", owner, name, intent]]);
  points.push(["key", ["key", owner, origin, key]]);
  return points;
}

/** All keys that begin like this, and with the owner if one is given. */
export function under(place: "state" | "due" | "since" | "holder", owner?: string): IDBKeyRange {
  const start = owner === undefined ? [place] : [place, owner];
  return IDBKeyRange.bound(start, past(...start));
}

/** A key behind all that begin like this: an array sorts behind every number and string. */
export function past(...start: IDBValidKey[]): IDBValidKey {
  return [...start, []];
}
