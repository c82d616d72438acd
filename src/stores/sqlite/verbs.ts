/** The smaller verbs. */

import type { OperationRecord } from "../../core/record.js";
import { needsSync, prunableSince } from "../../core/record.js";
import type { Counts, PruneQuery } from "../../store.js";
import { applied, pruneFrom, relieved } from "../stamp.js";
import type { Work } from "./queue.js";
import { recordOf, SELECT } from "./rows.js";
import type { Transaction } from "./transaction.js";

type Change = (record: OperationRecord) => OperationRecord | undefined;

/**
 * The work of an update. With a base, `apply` is called before the transaction begins: that tells whether a sync is
 * needed, and one guarded statement is then all there is to do, unless someone else has been faster.
 */
export function updating(
  id: string,
  apply: Change,
  base: OperationRecord | undefined,
): Work<OperationRecord | undefined> {
  let expected: Guess | undefined;
  const expect = (): Guess | undefined => {
    expected ??= base?.id === id ? guess(apply, base) : undefined;
    return expected;
  };
  return {
    writes: true,
    id,
    strict() {
      const known = expect();
      if (!base || !known) return true;
      // What is past its time and comes back after a power cut is removed again.
      return known.after ? needsSync(base, known.after) : prunableSince(base) === undefined;
    },
    run(tx) {
      // Where another verb has made the transaction strict already, this one was not asked.
      const after = expect()?.after;
      const done = base && after && tx.replace(base, after);
      return done ?? update(tx, id, apply);
    },
  };
}

interface Guess {
  readonly after: OperationRecord | undefined;
}

/** What `apply` makes of the base, where that is a change at all: the rest is left to what stands in the store. */
function guess(apply: Change, base: OperationRecord): Guess | undefined {
  try {
    const after = applied(apply, base);
    return after === base ? undefined : { after };
  } catch {
    return undefined;
  }
}

function update(tx: Transaction, id: string, apply: Change): OperationRecord | undefined {
  const before = tx.record("o.id = ?", id);
  if (!before) return undefined;
  const after = applied(apply, before);
  if (after === before) return before;
  if (after) return tx.replace(before, after);
  tx.remove(before);
  return undefined;
}

export function find(tx: Transaction, owner: string, name: string, intent: string): OperationRecord | undefined {
  const same = "o.owner = ? and o.name = ? and o.intent = ?";
  const holder = tx.record(`${same} and o.held = 1`, owner, name, intent);
  const latest = tx.record(`${same} and o.held <> 1 order by o.seq desc limit 1`, owner, name, intent);
  return (latest?.seq ?? 0) > (holder?.seq ?? 0) ? latest : holder;
}

export function head(tx: Transaction, owner: string, lane: string): OperationRecord | undefined {
  return tx.record("o.owner = ? and o.lane = ? and o.place = 0", owner, lane);
}

export function prunable(tx: Transaction, query: PruneQuery): OperationRecord[] {
  const since = query.bare ? "o.bare" : "o.kept";
  const sql = `${SELECT} where ${since} < ? and (${since}, o.seq) > (?, ?) order by ${since}, o.seq limit ?`;
  return tx.all(sql, query.settledBefore, ...pruneFrom(query), query.limit).map(recordOf);
}

export function counts(tx: Transaction, owner: string | undefined): Counts {
  tx.flush();
  return tx.counted(owner === undefined ? "*" : `=${owner}`);
}

export function relieve(tx: Transaction, isDead: (holder: string) => boolean): number {
  const holders = tx.all("select distinct holder from operations where holder is not null");
  const dead = holders.map(({ holder }) => holder as string).filter(isDead);
  const orphans = dead.flatMap((holder) => {
    const held = tx.all("select seq from operations where holder = ?", holder);
    return held.map(({ seq }) => tx.record("o.seq = ?", seq as number) as OperationRecord);
  });
  for (const record of orphans) tx.replace(record, relieved(record));
  return orphans.length;
}
