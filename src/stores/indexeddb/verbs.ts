/** What each verb of the port does, within a transaction that it may share with others. */

import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { StoreError } from "../../errors.js";
import type { Counts, Inserted, InsertLimits, PageFilter, PruneQuery } from "../../store.js";
import { applied, isListed, mostBeside, pruneFrom, relieved, tooMany } from "../stamp.js";
import { countsKey, past, under } from "./schema.js";
import type { Work } from "./work.js";

export async function insert(work: Work, record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
  const most = mostBeside(record, limits);
  if (most !== undefined && (await work.waiting()) > most) {
    const earlier = await work.met(record);
    if (earlier) return earlier;
    throw tooMany(record, limits);
  }
  const added = await work.add(record);
  const result = added ? { record: added } : await work.met(record);
  if (result) return result;
  throw new StoreError("corrupt", {
    detail: "a record was refused as a duplicate of one that is not there",
    id: record.id,
  });
}

export async function update(
  work: Work,
  id: string,
  apply: (record: OperationRecord) => OperationRecord | undefined,
  base?: OperationRecord,
): Promise<OperationRecord | undefined> {
  // By `seq` where it is known, which saves the way through an index; a database made anew may have given it away.
  const known = base && (await work.get(base.seq));
  const before = known?.id === id ? known : await work.first("unique", ["id", id]);
  if (!before) return undefined;
  const after = applied(apply, before);
  return after === before ? before : work.replace(before, after);
}

/** So many rows are looked at in one transaction: nobody who wants to write waits longer for a listing. */
const STEP = 500;

/** A listing under way. */
export interface Walk {
  readonly found: readonly OperationRecord[];
  /** Where it goes on; absent at its beginning and at its end. */
  readonly at?: [key: IDBValidKey, seq: number] | undefined;
  readonly done?: boolean;
}

/** Takes a listing further. */
export async function walkOn(work: Work, filter: PageFilter, { found: before, at }: Walk): Promise<Walk> {
  const { owner, states, after = 0, limit = 100 } = filter;
  const found = [...before];
  let from = at;
  let next: Walk["at"];
  let group: IDBValidKey = [];
  let taken = 0;
  let seen = 0;
  await work.walk(under("state", owner), (cursor, record) => {
    const { key } = cursor;
    const begin = from;
    from = undefined;
    if (begin && indexedDB.cmp([key, record.seq], begin) < 0) return cursor.continuePrimaryKey(...begin);
    if (seen++ === STEP) {
      next = [key, record.seq];
      return false;
    }
    // Records of one owner and state stand in `seq` order, so `limit` of each are enough.
    if (indexedDB.cmp(key, group) !== 0) {
      group = key;
      taken = found.filter((it) => it.owner === record.owner && it.state === record.state).length;
    }
    if (taken >= limit || states?.includes(record.state) === false) {
      return cursor.continue(past("state", record.owner, record.state));
    }
    if (record.seq <= after) return cursor.continuePrimaryKey(key, after + 1);
    if (isListed(record, filter)) taken = found.push(record) && taken + 1;
    return cursor.continue();
  });
  return { found, at: next, done: !next };
}

/** The first of what was found: each owner and state has been gone through on its own. */
export function endWalk({ found }: Walk, limit = 100): readonly OperationRecord[] {
  return [...found].sort((a, b) => a.seq - b.seq).slice(0, limit);
}

export async function prunable(work: Work, query: PruneQuery): Promise<OperationRecord[]> {
  const { settledBefore, bare, limit } = query;
  const [since, last] = pruneFrom(query);
  const place = bare ? "bare" : "kept";
  const found: OperationRecord[] = [];
  if (since >= settledBefore) return found;
  const key = [place, since];
  await work.walk(IDBKeyRange.bound(key, [place, settledBefore], false, true), (cursor, record) => {
    const isPast = record.seq <= last && indexedDB.cmp(cursor.key, key) === 0;
    if (isPast && record.seq < last) return cursor.continuePrimaryKey(key, last);
    return (isPast || found.push(record) < limit) && cursor.continue();
  });
  return found;
}

export async function counts(work: Work, owner?: string): Promise<Counts> {
  const sum: { [S in State]?: number } = {};
  for (const [what, n] of await work.counted()) {
    const state = what.slice(0, what.indexOf(" ")) as State;
    if (what === countsKey(owner ?? what.slice(state.length + 1), state)) sum[state] = (sum[state] ?? 0) + n;
  }
  return Object.fromEntries(Object.entries(sum).filter(([, n]) => n > 0));
}

export async function relieve(work: Work, isDead: (holder: string) => boolean): Promise<number> {
  const orphans: OperationRecord[] = [];
  const verdicts = new Map<string, boolean>();
  await work.walk(under("holder"), (cursor, record) => {
    const [, holder] = cursor.key as [string, string];
    const dead = verdicts.get(holder) ?? applied(() => isDead(holder), record);
    verdicts.set(holder, dead);
    if (dead) orphans.push(record);
    cursor.continue(dead ? undefined : past("holder", holder));
  });
  await Promise.all(orphans.map((record) => work.replace(record, relieved(record))));
  return orphans.length;
}
