/** Listing, in steps that are short whatever the filter leaves out and however large the records are. */

import type { OperationRecord } from "../../core/record.js";
import { STATES } from "../../core/record.js";
import type { PageFilter } from "../../store.js";
import type { SqliteValue } from "./driver.js";
import type { Transaction } from "./transaction.js";

/** How many rows a step looks at, at most, where the index alone cannot tell. */
const ROWS = 500;
/** How many records a step reads, and how many bytes of bodies after which it reads no further. */
const RECORDS = 50;
const BYTES = 1_048_576;

/** A listing under way. Never changed, since a step may have to be taken again. */
export interface Walk {
  readonly filter: PageFilter;
  readonly limit: number;
  /** The states still to be gone through, one after the other. None left means that the listing is done. */
  readonly states: readonly string[];
  /** Where the first of them goes on. */
  readonly after: number;
  /** How many were found in the first of them. */
  readonly taken: number;
  readonly found: readonly number[];
}

export function startWalk(filter: PageFilter): Walk {
  const { states, limit = 100, after = 0 } = filter;
  const wanted = STATES.filter((state) => states?.includes(state) ?? true);
  return { filter, limit, states: limit > 0 ? wanted : [], after, taken: 0, found: [] };
}

/** Takes steps until the listing is done, or enough was looked at for one transaction. */
export function walkOn(tx: Transaction, start: Walk): Walk {
  const { name, intent, lane } = start.filter;
  if (name === undefined && intent === undefined && lane === undefined) return byIndex(tx, start);
  let walk = start;
  for (let seen = 0; seen < ROWS && walk.states.length > 0; ) {
    const [next, looked] = step(tx, walk, ROWS - seen);
    seen += Math.max(looked, 1);
    walk = next;
  }
  return walk;
}

/** Each state has been gone through on its own: of all that were found, the first. */
export function endWalk({ found, limit }: Walk): number[] {
  return [...found].sort((a, b) => a - b).slice(0, limit);
}

/** The first records of these, as many as one step reads; `undefined` for one that is gone. */
export function readSome(tx: Transaction, seqs: readonly number[]): (OperationRecord | undefined)[] {
  const records: (OperationRecord | undefined)[] = [];
  let bytes = 0;
  for (const seq of seqs.slice(0, RECORDS)) {
    const record = tx.record("o.seq = ?", seq);
    records.push(record);
    bytes += (record?.request.body?.byteLength ?? 0) + (record?.response?.body?.byteLength ?? 0);
    if (bytes >= BYTES) break;
  }
  return records;
}

const whose = ({ owner }: PageFilter): [string, SqliteValue[]] =>
  owner === undefined ? ["", []] : ["owner = ? and", [owner]];

/** The indexes hold whatever is asked for. */
function byIndex(tx: Transaction, walk: Walk): Walk {
  const [condition, values] = whose(walk.filter);
  const sql = `select seq from operations where ${condition} state = ? and seq > ? order by seq limit ?`;
  const found = walk.states.flatMap((state) =>
    tx.all(sql, ...values, state, walk.after, walk.limit).map(({ seq }) => seq as number),
  );
  return { ...walk, states: [], found };
}

/** Looks at no more than `most` rows of one state. */
function step(tx: Transaction, walk: Walk, most: number): [next: Walk, looked: number] {
  const [state = "", ...rest] = walk.states;
  const [condition, values] = whose(walk.filter);
  const span = tx.get(
    `select count(*) as n, max(seq) as last from (
      select seq from operations where ${condition} state = ? and seq > ? order by seq limit ?)`,
    ...values,
    state,
    walk.after,
    most,
  ) as { n: number; last: number | null };
  const room = walk.limit - walk.taken;
  const few = span.last === null ? [] : matching(tx, walk, state, span.last, room);
  const found = [...walk.found, ...few];
  if (span.n < most || few.length === room) {
    return [{ ...walk, found, states: rest, after: walk.filter.after ?? 0, taken: 0 }, span.n];
  }
  return [{ ...walk, found, after: span.last as number, taken: walk.taken + few.length }, span.n];
}

function matching(tx: Transaction, { filter, after }: Walk, state: string, last: number, room: number): number[] {
  const wanted: [condition: string, value: SqliteValue | undefined][] = [
    ["owner = ?", filter.owner],
    ["name = ?", filter.name],
    ["intent = ?", filter.intent],
    ["lane = ?", filter.lane],
  ];
  const given = wanted.filter(([, value]) => value !== undefined);
  const conditions = ["state = ? and seq > ? and seq <= ?", ...given.map(([condition]) => condition)];
  const values = given.map(([, value]) => value as SqliteValue);
  const sql = `select seq from operations where ${conditions.join(" and ")} order by seq limit ?`;
  return tx.all(sql, state, after, last, ...values, room).map(({ seq }) => seq as number);
}
