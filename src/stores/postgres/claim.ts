/** What is due, in the order in which it is taken. */

import { isHeld, type OperationRecord, readerOf } from "../../core/record.js";
import type { Claimed, ClaimQuery } from "../../store.js";
import { applied, dueAt } from "../stamp.js";
import { columnText, recordOf, WHOLE } from "./rows.js";
import type { Tables } from "./schema.js";
import { type Change, plainChange, type Transaction } from "./transaction.js";

type Apply = (record: OperationRecord) => OperationRecord;

/** A record to be changed, and how, where that can be told beforehand. */
interface Pick {
  readonly before: OperationRecord;
  readonly after: OperationRecord;
  readonly plain: Change | undefined;
}

/** How far a claim has looked. */
interface Cursor {
  /** 0: everything due; 1: everything that waits for a time from before the clock jumped back. */
  readonly arm: number;
  readonly at: number;
  readonly seq: number;
}

const START: Cursor = { arm: 0, at: Number.NEGATIVE_INFINITY, seq: 0 };

export async function claim(tx: Transaction, query: ClaimQuery, apply: Apply): Promise<Claimed> {
  if (query.ids) return { records: await write(tx, await named(tx, query, query.ids, apply)) };
  const picks: Pick[] = [];
  let cursor = START;
  let found: Found[];
  do {
    found = await due(tx, query, cursor, query.limit - picks.length);
    for (const { record } of found) pick(picks, record, apply);
    cursor = found.at(-1)?.cursor ?? cursor;
  } while (picks.length < query.limit && found.length > 0);
  const next = await nextDue(tx, query, cursor);
  const records = await write(tx, picks);
  const times = records.map((record) => (belongs(record, query) ? dueAt(record, query.now) : undefined));
  const later = [next, ...times].filter((time) => time !== undefined);
  return { records, next: later.length > 0 ? Math.max(query.now, Math.min(...later)) : undefined };
}

function pick(picks: Pick[], before: OperationRecord, apply: Apply): void {
  const after = applied(apply, before);
  if (after !== before) picks.push({ before, after, plain: plainChange(before, after) });
}

/** After all was read: a write must not move what is still being walked through. */
async function write(tx: Transaction, picks: readonly Pick[]): Promise<OperationRecord[]> {
  const done = await tx.changeAll(picks.flatMap(({ plain }) => plain ?? []));
  const records: OperationRecord[] = [];
  for (const { before, after } of picks) records.push(done.get(before.id) ?? (await tx.replace(before, after)));
  return records;
}

async function named(tx: Transaction, query: ClaimQuery, ids: readonly string[], apply: Apply): Promise<Pick[]> {
  const picks: Pick[] = [];
  const standing = ids.length > 0 ? await tx.locked(ids) : new Map<string, OperationRecord>();
  for (const id of new Set(ids)) {
    const record = standing.get(id);
    if (!record || record.parked || isHeld(record, query.now) || !belongs(record, query)) continue;
    if (picks.length < query.limit) pick(picks, record, apply);
  }
  return picks;
}

function belongs(record: OperationRecord, { owner, exceptOrigins, exceptReaders }: ClaimQuery): boolean {
  if (owner !== undefined && record.owner !== owner) return false;
  return !exceptOrigins?.includes(record.origin) && !exceptReaders?.has(readerOf(record));
}

/**
 * The statements compare rows, `(sdk, owner, origin, reader, due, seq)`, rather than each column: that is met by the one index
 * that has them in this order, and by no other, whatever Postgres believes about what is in the table.
 */
interface Order {
  /** What leads the index by time: the columns, and their values. */
  readonly columns: string;
  readonly values: string;
}

function orderOf({ owner }: ClaimQuery): Order {
  if (owner === undefined) return { columns: "o.sdk", values: "coalesce($2::text, $1::text)" };
  return { columns: "o.sdk, o.owner", values: "$1::text, $2::text" };
}

/** `$2` to `$4` of every statement that goes by group. */
function parameters({ owner, exceptOrigins = [], exceptReaders = new Set() }: ClaimQuery): (string | null)[] {
  const whose = owner === undefined ? null : columnText(owner);
  return [whose, JSON.stringify(exceptOrigins.map(columnText)), JSON.stringify([...exceptReaders])];
}

/** What a claim may exclude, and the indexes by time lead with. */
function groupOf(table: string, { hasReader }: Tables): string {
  return hasReader ? `${table}.origin, ${table}.reader` : `${table}.origin`;
}

const isWanted = (origin: string, reader: string): string => `
  ${origin} not in (select json_array_elements_text($3::text::json))
  and ${reader} not in (select json_array_elements_text($4::text::json))`;

const readerIn = (table: string, { hasReader }: Tables): string => (hasReader ? `${table}.reader` : "''");

/**
 * The groups of what has a time, but for the excepted ones. They are few: going through them one by one skips what is
 * excepted, however much of it there is.
 */
function groupsOf(tables: Tables, { columns, values }: Order): string {
  const group = groupOf("o", tables);
  const first = (after: string): string =>
    `select o.origin, ${readerIn("o", tables)} as reader from ${tables.operations} o where o.due is not null
     and (${columns}, ${group}) > (${values}, ${after}) and (${columns}) <= (${values})
     order by ${columns}, ${group} limit 1`;
  return `
    with recursive every as (
      (${first(tables.hasReader ? "'', ''" : "''")}) union all
      select after.* from every cross join lateral (${first(groupOf("every", tables))}) after
    ),
    groups as (select * from every where ${isWanted("origin", "reader")})`;
}

interface Found {
  readonly record: OperationRecord;
  readonly cursor: Cursor;
}

/**
 * What others have locked they are claiming now: it is skipped, and nobody waits. The second arm is as good as empty; what
 * is put behind the columns keeps Postgres to the index by time, since the others hold everything that is due.
 */
async function due(tx: Transaction, query: ClaimQuery, { arm, at, seq }: Cursor, limit: number): Promise<Found[]> {
  if (limit <= 0) return [];
  const { tables } = tx;
  const order = orderOf(query);
  const { columns, values } = order;
  const group = groupOf("o", tables);
  const its = groupOf("groups", tables);
  const rows = await tx.rows(
    `${groupsOf(tables, order)}
    select * from (
      select 0 as arm, d.* from groups cross join lateral (
        select o.due as at, ${WHOLE} from ${tables.operations} o
        where o.due is not null and $6::int = 0
        and (${columns}, ${group}, o.due, o.seq) > (${values}, ${its}, $7::float8, $8::bigint)
        and (${columns}, ${group}, o.due) <= (${values}, ${its}, $5::float8)
        order by ${columns}, ${group}, o.due, o.seq limit $9::int for update of o skip locked) d
      union all
      select 1 as arm, s.* from (
        select o.since as at, ${WHOLE} from ${tables.operations} o
        where o.due is not null and o.since > $5::float8
        and ($6::int = 0 or (o.since, o.seq) > ($7::float8, $8::bigint))
        and o.sdk || '' = $1 and ($2::text is null or o.owner || '' = $2::text)
        and ${isWanted("o.origin", readerIn("o", tables))}
        order by o.since, o.seq limit $9::int for update of o skip locked) s
    ) c order by arm, at, seq::bigint limit $9::int`,
    ...parameters(query),
    query.now,
    arm,
    at,
    seq,
    limit,
  );
  return rows.map((row) => {
    const cursor = { arm: Number(row["arm"]), at: Number(row["at"]), seq: Number(row["seq"]) };
    return { record: recordOf(row), cursor };
  });
}

/** The time of the first that was not looked at. */
async function nextDue(tx: Transaction, query: ClaimQuery, { arm, at, seq }: Cursor): Promise<number | undefined> {
  const order = orderOf(query);
  const { columns, values } = order;
  const group = groupOf("o", tx.tables);
  const its = groupOf("groups", tx.tables);
  const [row] = await tx.rows(
    `${groupsOf(tx.tables, order)}
    select min(d.due) as at from groups cross join lateral (
      select o.due from ${tx.tables.operations} o where o.due is not null
      and (${columns}, ${group}, o.due, o.seq) > (${values}, ${its}, $5::float8, $6::bigint)
      and (${columns}, ${group}) <= (${values}, ${its})
      order by ${columns}, ${group}, o.due, o.seq limit 1) d`,
    ...parameters(query),
    arm === 0 ? at : query.now,
    arm === 0 ? seq : Number.MAX_SAFE_INTEGER,
  );
  const time = row?.["at"] ?? undefined;
  return time === undefined ? undefined : Number(time);
}
