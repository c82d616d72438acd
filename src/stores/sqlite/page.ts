/** Listing, in steps that are short whatever the filter leaves out. */

import type { OperationRecord } from "../../core/record.js";
import { hasOutcome, STATES } from "../../core/record.js";
import type { PageFilter } from "../../store.js";
import type { SqliteValue } from "./driver.js";
import { recordOf, SELECT } from "./rows.js";
import type { Transaction } from "./transaction.js";

/** How many index entries a step looks at, at most, and how many rows if the index cannot tell: a few milliseconds. */
const ENTRIES = 20_000;
const ROWS = 1000;

/** A listing under way. Never changed, since a step may have to be taken again. */
export interface Walk {
  readonly filter: PageFilter;
  readonly limit: number;
  /** The states still to be gone through, one after the other. None left means that the listing is done. */
  readonly states: readonly string[];
  /** Where the first of them goes on. */
  readonly after: number;
  /** How much of it the next step looks at. */
  readonly step: number;
  readonly found: readonly OperationRecord[];
}

export function startWalk(filter: PageFilter): Walk {
  const { states, settledBefore, limit = 100, after = 0 } = filter;
  const wanted = STATES.filter((state) => {
    if (settledBefore !== undefined && !hasOutcome({ state })) return false;
    return states?.includes(state) ?? true;
  });
  return { filter, limit, states: limit > 0 ? wanted : [], after, step: limit, found: [] };
}

/** Takes steps until the listing is done, or enough was looked at for one transaction. */
export function walkOn(tx: Transaction, start: Walk): Walk {
  const { name, intent, lane } = start.filter;
  const most = name === undefined && intent === undefined && lane === undefined ? ENTRIES : ROWS;
  let walk = start;
  for (let seen = 0; seen < most && walk.states.length > 0; seen += walk.step) walk = step(tx, walk, most);
  return walk;
}

/** Each state has been gone through on its own: of all that were found, the first. */
export function endWalk({ found, limit }: Walk): OperationRecord[] {
  return [...found].sort((a, b) => a.seq - b.seq).slice(0, limit);
}

function step(tx: Transaction, walk: Walk, most: number): Walk {
  const [state = "", ...rest] = walk.states;
  const { owner } = walk.filter;
  const span = tx.get(
    `select count(*) as n, max(seq) as last from (
      select seq from operations where ${owner === undefined ? "" : "owner = ? and"} state = ? and seq > ?
      order by seq limit ?)`,
    ...(owner === undefined ? [] : [owner]),
    state,
    walk.after,
    walk.step,
  ) as { n: number; last: number | null };
  const room = walk.limit - walk.found.filter((record) => record.state === state).length;
  const few = span.last === null ? [] : matching(tx, walk, state, span.last, room);
  const found = [...walk.found, ...few];
  if (span.n < walk.step || few.length === room) {
    return { ...walk, found, states: rest, after: walk.filter.after ?? 0, step: walk.limit };
  }
  return { ...walk, found, after: span.last as number, step: Math.min(walk.step * 4, most) };
}

function matching(
  tx: Transaction,
  { filter, after }: Walk,
  state: string,
  last: number,
  room: number,
): OperationRecord[] {
  const wanted: [condition: string, value: SqliteValue | undefined][] = [
    ["o.owner = ?", filter.owner],
    ["o.name = ?", filter.name],
    ["o.intent = ?", filter.intent],
    ["o.lane = ?", filter.lane],
    ["o.settled_at < ?", filter.settledBefore],
  ];
  const given = wanted.filter(([, value]) => value !== undefined);
  const conditions = ["o.state = ? and o.seq > ? and o.seq <= ?", ...given.map(([condition]) => condition)];
  const values = given.map(([, value]) => value as SqliteValue);
  const sql = `${SELECT} where ${conditions.join(" and ")} order by o.seq limit ?`;
  return tx.all(sql, state, after, last, ...values, room).map(recordOf);
}
