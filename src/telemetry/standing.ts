import type { Store } from "../store.js";

/** What is open in a store, everyone's. */
export interface Standing {
  readonly pending: number;
  readonly blocked: number;
  /** Those that nobody has decided on. */
  readonly unresolved: number;
  /** The age of the oldest pending one, ms. */
  readonly oldestPending: number;
}

/** So many unresolved records are looked through, at most, for those that nobody has decided on. */
const most = 10_000;

/** Reads it: two look-ups, and the unresolved records where there are any. */
export async function standingOf(store: Store, now: number): Promise<Standing> {
  const { pending = 0, blocked = 0, unresolved = 0 } = await store.counts();
  const [oldest] = pending > 0 ? await store.page({ states: ["pending"], limit: 1 }) : [];
  return {
    pending,
    blocked,
    unresolved: unresolved > 0 ? Math.max(0, unresolved - (await decided(store))) : 0,
    oldestPending: oldest ? Math.max(0, now - oldest.createdAt) : 0,
  };
}

/** Those that were discarded are counted as unresolved for as long as they are kept. */
async function decided(store: Store): Promise<number> {
  let found = 0;
  let after: number | undefined;
  for (let seen = 0; seen < most; ) {
    const records = await store.page({ states: ["unresolved"], after });
    found += records.filter(({ resolution }) => resolution !== undefined).length;
    seen += records.length;
    after = records.at(-1)?.seq;
    if (after === undefined) break;
  }
  return found;
}
