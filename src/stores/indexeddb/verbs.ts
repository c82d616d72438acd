/** What each verb of the port does, within a transaction that it may share with others. */

import { values } from "idb-keyval";
import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { StoreError } from "../../errors.js";
import type { Counts, Inserted, PageFilter } from "../../store.js";
import { applied, isListed, relieved } from "../stamp.js";
import type { CountsRow } from "./schema.js";
import { countsKey, past, under } from "./schema.js";
import type { Work } from "./work.js";

export async function insert(work: Work, record: NewRecord): Promise<Inserted> {
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

export async function page(work: Work, filter: PageFilter): Promise<readonly OperationRecord[]> {
  const { owner, states, settledBefore, after = 0, limit = 100 } = filter;
  const found: OperationRecord[] = [];
  if (settledBefore === undefined) {
    let group = "";
    let taken = 0;
    await work.walk(under("state", owner), (cursor, record) => {
      // Records of one owner and state stand in `seq` order, so `limit` of each are enough.
      const next = JSON.stringify(cursor.key);
      if (next !== group) [group, taken] = [next, 0];
      if (taken === limit || states?.includes(record.state) === false) {
        cursor.continue(past("state", record.owner, record.state));
      } else if (record.seq <= after) {
        cursor.continuePrimaryKey(cursor.key, after + 1);
      } else {
        if (isListed(record, filter)) {
          found.push(record);
          taken++;
        }
        cursor.continue();
      }
    });
  } else {
    for (const seq of await work.seqs(IDBKeyRange.bound(["settled"], ["settled", settledBefore], false, true))) {
      if (found.length === limit) break;
      const record = seq > after ? await work.get(seq) : undefined;
      if (record && isListed(record, filter)) found.push(record);
    }
  }
  return found.sort((a, b) => a.seq - b.seq).slice(0, limit);
}

export async function counts(work: Work, owner?: string): Promise<Counts> {
  await work.flush();
  const sum: { [S in State]?: number } = {};
  for (const row of await values<CountsRow>(work.counts)) {
    for (const [what, n] of row) {
      const state = what.slice(0, what.indexOf(" ")) as State;
      if (what === countsKey(owner ?? what.slice(state.length + 1), state)) sum[state] = (sum[state] ?? 0) + n;
    }
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
