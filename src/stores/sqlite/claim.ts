/** What is due, in the order in which it is taken. */

import { isHeld, type OperationRecord, readerOf } from "../../core/record.js";
import type { Claimed, ClaimQuery } from "../../store.js";
import { applied } from "../stamp.js";
import type { SqliteValue } from "./driver.js";
import type { Transaction } from "./transaction.js";

type Change = readonly [before: OperationRecord, after: OperationRecord];

interface Candidate {
  readonly seq: number;
  /** Its due time, or the time from which it waits if that lies in the future. */
  readonly at: number;
}

/** What a claim may exclude, and the index by time leads with. */
interface Group {
  readonly origin: string;
  readonly reader: string;
}

export function claim(
  tx: Transaction,
  query: ClaimQuery,
  apply: (record: OperationRecord) => OperationRecord,
): Claimed {
  if (query.ids) return { records: write(tx, choose(named(tx, query, query.ids), query.limit, apply).changes) };
  const { changes, left } = choose(due(tx, query), query.limit, apply);
  const records = write(tx, changes);
  return { records, next: left ? query.now : nextDue(tx, query) };
}

/** Takes from `candidates` until the limit is reached; `left` tells that there are more. */
function choose(
  candidates: Iterable<OperationRecord>,
  limit: number,
  apply: (record: OperationRecord) => OperationRecord,
): { changes: Change[]; left: boolean } {
  const changes: Change[] = [];
  for (const before of candidates) {
    if (changes.length >= limit) return { changes, left: true };
    const after = applied(apply, before);
    if (after !== before) changes.push([before, after]);
  }
  return { changes, left: false };
}

/** After all was read: a write must not move what is still being walked through. */
function write(tx: Transaction, changes: readonly Change[]): OperationRecord[] {
  return changes.map(([before, after]) => tx.replace(before, after) as OperationRecord);
}

function* named(tx: Transaction, query: ClaimQuery, ids: readonly string[]): Generator<OperationRecord> {
  for (const id of new Set(ids)) {
    const record = tx.record("o.id = ?", id);
    if (!record || record.parked || isHeld(record, query.now)) continue;
    if (query.owner !== undefined && record.owner !== query.owner) continue;
    if (isWanted({ origin: record.origin, reader: readerOf(record) }, query)) yield record;
  }
}

/** Everything due, then everything that waits for a time from before the clock jumped back. */
function* due(tx: Transaction, query: ClaimQuery): Generator<OperationRecord> {
  const groups = groupsOf(tx, query);
  for (const walk of [dueBy, sinceAfter]) {
    let last: Candidate = { seq: 0, at: walk === dueBy ? Number.NEGATIVE_INFINITY : query.now };
    for (;;) {
      // Some may have been excepted meanwhile.
      const wanted = groups.filter((group) => isWanted(group, query));
      const few = walk(tx, query, wanted, last, query.limit + 1);
      for (const { seq } of few) yield tx.record("o.seq = ?", seq) as OperationRecord;
      if (few.length <= query.limit) break;
      last = few.at(-1) as Candidate;
    }
  }
}

/** Whose, as a condition that leads the indexes, and its value. */
const whose = ({ owner }: ClaimQuery): [string, SqliteValue[]] =>
  owner === undefined ? ["", []] : ["owner = ? and", [owner]];

function isWanted({ origin, reader }: Group, { exceptOrigins, exceptReaders }: ClaimQuery): boolean {
  return !exceptOrigins?.includes(origin) && !exceptReaders?.has(reader);
}

/** Groups are few. Going through them one by one skips what is excepted, however much of it there is. */
function groupsOf(tx: Transaction, query: ClaimQuery): Group[] {
  const [condition, values] = whose(query);
  // Behind every time there is: compared without a time, the group itself would be walked through once more.
  const sql = `
    select origin, reader from operations where ${condition} due is not null and (origin, reader, due) > (?, ?, 9e999)
    order by origin, reader limit 1`;
  const groups: Group[] = [];
  for (let last: Group | undefined = { origin: "", reader: "" }; ; ) {
    last = tx.get(sql, ...values, last.origin, last.reader) as Group | undefined;
    if (!last) return groups;
    groups.push(last);
  }
}

function dueBy(tx: Transaction, query: ClaimQuery, groups: Group[], last: Candidate, limit: number): Candidate[] {
  const [condition, values] = whose(query);
  const sql = `
    select seq, due as at from operations
    where ${condition} origin = ? and reader = ? and due is not null and due <= ? and (due, seq) > (?, ?)
    order by due, seq limit ?`;
  const found = groups.flatMap(({ origin, reader }) => {
    return tx.all(sql, ...values, origin, reader, query.now, last.at, last.seq, limit) as unknown as Candidate[];
  });
  return found.sort((a, b) => a.at - b.at || a.seq - b.seq).slice(0, limit);
}

function sinceAfter(tx: Transaction, query: ClaimQuery, groups: Group[], last: Candidate, limit: number): Candidate[] {
  const [condition, values] = whose(query);
  // The plus signs keep SQLite to the index by time, which is as good as empty; the others hold everything that is due.
  const sql = `
    select seq, since as at from operations
    where due is not null and since > ? and (since, seq) > (?, ?) and ${condition && `+${condition}`}
    +origin || reader in (select value from json_each(?)) order by since, seq limit ?`;
  const names = JSON.stringify(groups.map(({ origin, reader }) => origin + reader));
  const found = tx.all(sql, query.now, last.at, last.seq, ...values, names, limit);
  return found as unknown as Candidate[];
}

function nextDue(tx: Transaction, query: ClaimQuery): number | undefined {
  const [condition, values] = whose(query);
  const sql = `
    select min(due) as due from operations
    where ${condition} origin = ? and reader = ? and due is not null and due > ?`;
  const wanted = groupsOf(tx, query).filter((group) => isWanted(group, query));
  const times = wanted.flatMap(
    ({ origin, reader }) => (tx.get(sql, ...values, origin, reader, query.now)?.["due"] as number | null) ?? [],
  );
  return times.length > 0 ? Math.min(...times) : undefined;
}
