/** What the database looks like: one row per operation under its `seq`, and one row of counts per owner. */

import type { NewRecord, OperationRecord } from "../../core/record.js";
import { holdsIntent, occupiesLane, scheduleOf } from "../../core/record.js";
import { holderOf } from "../stamp.js";

export const OPERATIONS = "operations";
export const COUNTS = "counts";

/**
 * Hundreds are breaking versions, ones are additions that older code can live with. Not 1: a database that something
 * else made under our name is thereby upgraded to ours, instead of lacking our object stores for ever.
 */
export const VERSION = 100;

/** What stands under a `seq`: the record without it, and beside the record what only its indexes need. */
export interface Row {
  readonly record: Omit<OperationRecord, "seq">;
  readonly due?: number;
  readonly since?: number;
  /** Present while the record holds its intent and its key: a unique index ignores rows that lack a part of its path. */
  readonly holds?: 1;
  /** Present while the record occupies its lane: 0 at the front, 1 behind. */
  readonly laned?: 0 | 1;
  readonly holder?: string | undefined;
}

/** How many records of an owner stand in each state, under the owner. */
export interface CountsRow {
  readonly [state: string]: number;
}

const held = ["holds", "record.owner"];
const queue = ["record.owner", "record.origin"];

/** Paths of the indexes; those named in `unique` are. */
const indexes = {
  id: "record.id",
  intent: [...held, "record.name", "record.intent"],
  key: [...held, "record.origin", "record.key"],
  named: ["record.owner", "record.name", "record.intent"],
  due: [...queue, "due"],
  since: [...queue, "since"],
  state: ["record.owner", "record.state"],
  lane: ["laned", "record.owner", "record.lane"],
  settled: "record.settledAt",
  holder: "holder",
};
const unique = ["id", "intent", "key"];

export type IndexName = keyof typeof indexes;

/** Creates what is not there yet. */
export function upgrade(database: IDBDatabase): void {
  if (!database.objectStoreNames.contains(COUNTS)) database.createObjectStore(COUNTS);
  if (database.objectStoreNames.contains(OPERATIONS)) return;
  const operations = database.createObjectStore(OPERATIONS, { autoIncrement: true });
  for (const [name, path] of Object.entries(indexes)) {
    operations.createIndex(name, path, { unique: unique.includes(name) });
  }
}

/** The row of a record; its key is the `seq`, which a new one gets from the key generator in the same request. */
export function toRow(record: OperationRecord, holds: boolean = holdsIntent(record)): Row {
  const { seq: _, ...unnumbered } = record;
  return {
    record: unnumbered,
    ...scheduleOf(record),
    ...(holds && { holds: 1 }),
    ...(occupiesLane(record) && { laned: record.parked ? 1 : 0 }),
    holder: holderOf(record),
  };
}

export function toRecord(row: Row, seq: IDBValidKey): OperationRecord {
  return { ...row.record, seq: seq as number };
}

/** The range of an index that begins with the owner: one owner's part of it, or all. */
export function whose(owner: string | undefined): IDBKeyRange | null {
  return owner === undefined ? null : IDBKeyRange.bound([owner], past(owner));
}

/** A key behind all that begin like this: an array sorts behind every number and string. */
export function past(...start: IDBValidKey[]): IDBValidKey {
  return [...start, []];
}

/** The key under which the `lane` index has the front of a lane, or those behind it. */
export function laneKey({ owner, lane }: NewRecord, laned: 0 | 1): IDBValidKey {
  return [laned, owner, lane as string];
}

/** Where a record would meet an earlier one, in the order in which that is reported. */
export function meetingPoints(record: NewRecord): [index: "id" | "intent" | "key", key: IDBValidKey][] {
  const { id, owner, name, intent, origin, key } = record;
  const points: ReturnType<typeof meetingPoints> = [["id", id]];
  if (intent !== undefined) points.push(["intent", [1, owner, name, intent]]);
  points.push(["key", [1, owner, origin, key]]);
  return points;
}
