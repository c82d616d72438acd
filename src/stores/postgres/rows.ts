/**
 * A record as columns, and back. The whole of it is also kept as JSON, in which an `ArrayBuffer` becomes `{}`: that
 * marks the place of a body, whose bytes are in a column of their own.
 */

import { Buffer } from "node:buffer";
import { whole } from "../../core/fields.js";
import type { OperationRecord, StoredRequest, StoredResponse } from "../../core/record.js";
import { holdsIntent, isBare, occupiesLane, prunableSince, readerOf, scheduleOf } from "../../core/record.js";
import { holderOf } from "../stamp.js";

/** What a statement is told of a record. Rows travel as one JSON document: no driver's way of arrays is relied on. */
export interface Row {
  readonly id: string;
  readonly owner: string;
  readonly origin: string;
  readonly key: string;
  readonly name: string;
  readonly intent: string | null;
  readonly lane: string | null;
  readonly state: string;
  readonly held: number | null;
  readonly place: number | null;
  readonly due: number | null;
  readonly since: number | null;
  readonly holder: string | null;
  readonly kept: number | null;
  readonly bare: number | null;
  readonly reader: string;
  readonly record: string;
  readonly request: string | null;
  readonly response: string | null;
}

/** The columns of a {@link Row}, typed, as `json_to_recordset` wants them. */
export const ROW = `id text, owner text, origin text, key text, name text, intent text, lane text, state text,
  held smallint, place smallint, due double precision, since double precision, holder text, kept double precision,
  bare double precision, reader text, record text, request text, response text`;

/** The columns that read a whole record of `o`. */
export const WHOLE = "o.seq::text as seq, o.rev, o.place, o.record, o.request, o.response";

/** Text as it stands in a column: Postgres keeps neither NUL nor half a surrogate pair. */
export function columnText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

export function rowOf(record: OperationRecord): Row {
  const schedule = scheduleOf(record);
  const holder = holderOf(record);
  const over = prunableSince(record) ?? null;
  const bare = isBare(record);
  return {
    id: columnText(record.id),
    owner: columnText(record.owner),
    origin: columnText(record.origin),
    key: columnText(record.key),
    name: columnText(record.name),
    intent: record.intent === undefined ? null : columnText(record.intent),
    lane: record.lane === undefined ? null : columnText(record.lane),
    state: record.state,
    held: holdsIntent(record) ? 1 : 0,
    place: occupiesLane(record) ? Number(record.parked === true) : null,
    due: schedule?.due ?? null,
    since: schedule?.since ?? null,
    holder: holder === undefined ? null : columnText(holder),
    kept: bare ? null : over,
    bare: bare ? over : null,
    reader: readerOf(record),
    record: JSON.stringify(record),
    request: base64(record.request.body),
    response: base64(record.response?.body),
  };
}

/** What stands beside the JSON decides; the JSON's own `seq`, `rev` and `parked` are those of some earlier write. */
export function recordOf(row: Record<string, unknown>): OperationRecord {
  const record = whole(JSON.parse(row["record"] as string) as Mutable<OperationRecord>);
  const parked = isParked(row);
  record.seq = Number(row["seq"]);
  record.rev = Number(row["rev"]);
  if (parked || record.parked) record.parked = parked || undefined;
  (record.request as Mutable<StoredRequest>).body = bufferOf(row["request"]);
  if (record.response) (record.response as Mutable<StoredResponse>).body = bufferOf(row["response"]);
  return record;
}

export function isParked(row: Record<string, unknown>): boolean {
  return Number(row["place"] ?? 0) === 1;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function base64(body: ArrayBuffer | undefined): string | null {
  return body ? Buffer.from(body).toString("base64") : null;
}

/** The bytes alone: a driver may hand out a view of something larger. */
function bufferOf(bytes: unknown): ArrayBuffer | undefined {
  return bytes ? (new Uint8Array(bytes as Uint8Array).buffer as ArrayBuffer) : undefined;
}
