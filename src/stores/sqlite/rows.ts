/**
 * A record as columns, and back. The whole of it is also kept as JSON, in which an `ArrayBuffer` becomes `{}`: that marks
 * the place of a body, whose bytes are in a table of their own, without a copy of the record being made.
 */

import { whole } from "../../core/fields.js";
import type { OperationRecord, StoredRequest, StoredResponse } from "../../core/record.js";
import { holdsIntent, isBare, occupiesLane, prunableSince, readerOf, scheduleOf } from "../../core/record.js";
import { holderOf } from "../stamp.js";
import type { SqliteValue } from "./driver.js";

/** The columns of one row, in the order of {@link COLUMNS}. */
export type Columns = readonly SqliteValue[];

/** All columns that a change of a record can change, but for `rev` and `record`, which every change does. */
export const COLUMNS = [
  "owner",
  "origin",
  "key",
  "name",
  "intent",
  "lane",
  "state",
  "held",
  "place",
  "due",
  "since",
  "holder",
  "kept",
  "bare",
  "reader",
] as const;

/** Where `held` stands in {@link COLUMNS}. */
export const HELD = 7;

/** What reads a whole record; ends where a condition on `o` begins. */
export const SELECT = `
  select o.seq, o.rev, o.place, o.record, q.body as request, s.body as response
  from operations o left join requests q on q.seq = o.seq left join responses s on s.seq = o.seq`;

export function columnsOf(record: OperationRecord): SqliteValue[] {
  const schedule = scheduleOf(record);
  const over = prunableSince(record) ?? null;
  const bare = isBare(record);
  return [
    record.owner,
    record.origin,
    record.key,
    record.name,
    record.intent ?? null,
    record.lane ?? null,
    record.state,
    holdsIntent(record) ? 1 : 0,
    occupiesLane(record) ? Number(record.parked === true) : null,
    schedule?.due ?? null,
    schedule?.since ?? null,
    holderOf(record) ?? null,
    bare ? null : over,
    bare ? over : null,
    readerOf(record),
  ];
}

interface Row {
  readonly seq: number;
  readonly rev: number;
  readonly place: number | null;
  readonly record: string;
  readonly request: Uint8Array | null;
  readonly response: Uint8Array | null;
}

/** What stands beside the JSON decides; the JSON's own `seq`, `rev` and `parked` are those of some earlier write. */
export function recordOf(found: unknown): OperationRecord {
  const row = found as Row;
  const record = whole(JSON.parse(row.record) as Mutable<OperationRecord>);
  record.seq = row.seq;
  record.rev = row.rev;
  if (row.place === 1 || record.parked) record.parked = row.place === 1 || undefined;
  (record.request as Mutable<StoredRequest>).body = bufferOf(row.request);
  if (record.response) (record.response as Mutable<StoredResponse>).body = bufferOf(row.response);
  return record;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The bytes alone: a binding may hand out a view of something larger. */
function bufferOf(view: Uint8Array | null): ArrayBuffer | undefined {
  if (!view) return undefined;
  const { buffer, byteOffset, byteLength } = view;
  if (buffer.byteLength === byteLength) return buffer as ArrayBuffer;
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}
