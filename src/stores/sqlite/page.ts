/** Listing, in steps that are short whatever the filter leaves out. */

import type { OperationRecord } from "../../core/record.js";
import { hasOutcome, STATES } from "../../core/record.js";
import type { PageFilter } from "../../store.js";
import type { SqliteValue } from "./driver.js";
import { recordOf, SELECT } from "./rows.js";
import type { Transaction } from "./transaction.js";

/** How many index entries one step looks at, at most: a few milliseconds. */
const STEP = 20_000;

/** A listing under way. */
export interface Walk {
  readonly filter: PageFilter;
  readonly limit: number;
  /** The states still to be gone through; the first is under way. */
  readonly states: string[];
  /** Where the first state goes on. */
  after: number;
  readonly found: OperationRecord[];
}

export function startWalk(filter: PageFilter): Walk {
  const states = STATES.filter((state) => {
    if (filter.settledBefore !== undefined && !hasOutcome({ state })) return false;
    return filter.states?.includes(state) ?? true;
  });
  return { filter, limit: filter.limit ?? 100, states, after: filter.after ?? 0, found: [] };
}

/** Goes on with a listing; the result is there once it answers true. */
export function walkOn(tx: Transaction, walk: Walk): boolean {
  for (let seen = 0; seen < STEP; ) {
    const state = walk.states[0];
    if (state === undefined || walk.limit === 0) return true;
    const span =
      "select count(*) as n, max(seq) as last from (select seq from operations where state = ? and seq > ? order by seq limit ?)";
    const { n, last } = tx.get(span, state, walk.after, STEP) as { n: number; last: number | null };
    const room = walk.limit - walk.found.filter((record) => record.state === state).length;
    const few = n > 0 ? matching(tx, walk, state, last as number, room) : [];
    walk.found.push(...few);
    seen += n;
    walk.after = last ?? 0;
    if (n < STEP || few.length === room) {
      walk.states.shift();
      walk.after = walk.filter.after ?? 0;
    }
  }
  return false;
}

/** Each state has been gone through on its own: of all that were found, the first. */
export function endWalk({ found, limit }: Walk): OperationRecord[] {
  return found.sort((a, b) => a.seq - b.seq).slice(0, limit);
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
  // Unlike a condition, a unary plus keeps SQLite from choosing an index that is not in order.
  const sql = `${SELECT} where ${conditions.join(" and ")} order by o.seq limit ?`;
  return tx.all(sql, state, after, last, ...values, room).map(recordOf);
}
