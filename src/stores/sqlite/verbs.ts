/** The smaller verbs. */

import type { OperationRecord } from "../../core/record.js";
import { needsSync } from "../../core/record.js";
import type { Counts } from "../../store.js";
import { applied, relieved } from "../stamp.js";
import type { Work } from "./queue.js";
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
  let expected: OperationRecord | undefined;
  const expect = (): OperationRecord | undefined => {
    expected ??= base?.id === id ? guess(apply, base) : undefined;
    return expected;
  };
  return {
    writes: true,
    id,
    strict() {
      const after = expect();
      return !(base && after) || needsSync(base, after);
    },
    run(tx) {
      // Where another verb has made the transaction strict already, this one was not asked.
      const after = expect();
      const done = base && after && tx.replace(base, after);
      return done ?? update(tx, id, apply);
    },
  };
}

/** What `apply` makes of the base, where that is a change at all: the rest is left to what stands in the store. */
function guess(apply: Change, base: OperationRecord): OperationRecord | undefined {
  try {
    const after = applied(apply, base);
    return after === base ? undefined : after;
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

export function counts(tx: Transaction, owner: string | undefined): Counts {
  tx.flush();
  const rows = tx.all("select state, n from counts where whose = ? and n > 0", owner === undefined ? "*" : `=${owner}`);
  return Object.fromEntries(rows.map(({ state, n }) => [state, n])) as Counts;
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
