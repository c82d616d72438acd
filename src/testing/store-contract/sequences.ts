import type { OperationRecord, State } from "../../core/record.js";
import { holdsIntent, occupiesLane } from "../../core/record.js";
import type { Counts, Store } from "../../store.js";
import { ids, ok, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import {
  blocked,
  discarded,
  leased,
  marked,
  newRecord,
  postponed,
  rejected,
  succeeded,
  T0,
  unresolved,
} from "./records.js";

/** Mulberry32: the same numbers for the same seed, everywhere. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const changes: ((it: OperationRecord, now: number) => OperationRecord | undefined)[] = [
  (it) => it,
  () => undefined,
  marked,
  succeeded,
  rejected,
  unresolved,
  blocked,
  (it, now) => postponed(it, now, 700),
  (it, now) => (it.state === "unresolved" ? discarded(it, now) : it),
  (it) => ({ ...it, delivered: true }),
  (it) => ({ ...it, state: "pending", settledAt: undefined, resolution: undefined }),
  (it) => ({ ...it, key: `${it.key}+` }),
];

/** One step at random, as a person or a driver might take it. Some are refused; that is checked elsewhere. */
async function step(store: Store, pick: (below: number) => number, now: number): Promise<unknown> {
  const owner = ["ada", "bob"][pick(2)] as string;
  const some = (await store.page({ limit: 1, after: pick(30) }))[0];
  switch (pick(6)) {
    case 0:
    case 1: {
      const intent = `intent-${pick(6)}`;
      const known = [{}, { intent, key: `key-of-${intent}` }, { key: `key-${pick(10)}` }][pick(3)];
      const lane = [{}, { lane: `lane-${pick(2)}` }][pick(2)];
      return store.insert(newRecord({ owner, nextAttemptAt: now - pick(1000), ...lane, ...known }));
    }
    case 2:
      return store.claim({ now, limit: 1 + pick(3), ...(pick(2) ? { owner } : {}) }, (it) =>
        pick(4) ? leased(it, `holder-${pick(3)}`, now, 1500) : it,
      );
    case 3:
      return store.relieve((holder) => holder === "holder-1");
    default: {
      const change = changes[pick(changes.length)] as (typeof changes)[number];
      return some && store.update(some.id, (it) => change(it, now), pick(2) ? some : undefined);
    }
  }
}

/** Everything that must hold of any store at rest, counted anew from its records. */
async function consistent(store: Store): Promise<OperationRecord[]> {
  const all = [...(await store.page({ limit: 10_000 }))];
  for (const owner of ["ada", "bob", undefined]) {
    const mine = all.filter((it) => owner === undefined || it.owner === owner);
    const recount: { [S in State]?: number } = {};
    for (const { state } of mine) recount[state] = (recount[state] ?? 0) + 1;
    same((await store.counts(owner)) satisfies Counts, recount, `the counts of ${owner ?? "all"}`);
  }
  for (const [lane, members] of byLane(all.filter(occupiesLane))) {
    const free = members.filter((it) => !it.parked);
    same(free.length, 1, `one member of ${lane} stands in front`);
    const front = free[0] as OperationRecord;
    same((await store.head(front.owner, front.lane ?? ""))?.id, front.id, "and is its head");
  }
  ok(!all.some((it) => it.parked && !occupiesLane(it)), "what has ended or has no lane is not parked");
  for (const it of all) {
    if (it.intent === undefined) continue;
    const alike = all.filter((o) => o.owner === it.owner && o.name === it.name && o.intent === it.intent);
    same((await store.find(it.owner, it.name, it.intent))?.id, alike.at(-1)?.id, "find gives the latest");
    if (!alike.some(holdsIntent)) continue;
    const { joined } = await store.insert(newRecord({ owner: it.owner, intent: it.intent, name: it.name, key: it.id }));
    same(joined, "intent", "a held intent is held");
  }
  return all;
}

function byLane(records: OperationRecord[]): Map<string, OperationRecord[]> {
  const lanes = new Map<string, OperationRecord[]>();
  for (const record of records) {
    const lane = `${record.owner} ${record.lane}`;
    lanes.set(lane, [...(lanes.get(lane) ?? []), record]);
  }
  return lanes;
}

/** Random programs: whatever happens, counts, lanes and uniqueness agree with the records. */
export const sequences: readonly ContractCase[] = [1, 2, 3, 4, 5, 6].map((seed) =>
  on(`counts, lanes and intents agree with the records after random steps (seed ${seed})`, async (subject) => {
    const pick = random(seed);
    let now = T0;
    for (let round = 0; round < 8; round += 1) {
      const together = Array.from({ length: 10 }, () => step(subject.store, pick, now));
      await Promise.allSettled(together);
      now += pick(2000);
      await consistent(subject.store);
    }
    const all = await consistent(subject.store);
    const again = await subject.reopen();
    same(ids(await consistent(again)), ids(all), "and after another open as well");
  }),
);
