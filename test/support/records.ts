/** Builders of valid records, and what a store is opened with. */

import { setTimeout } from "node:timers/promises";
import type { Clock, StoreContext } from "../../src/store.js";

export {
  blocked,
  bytes,
  discarded,
  leased,
  marked,
  newRecord,
  postponed,
  rejected,
  succeeded,
  T0,
  unresolved,
} from "../../src/testing/store-contract/records.js";

/** The real time. */
export const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, signal ? { signal } : {}),
};

export const context: StoreContext = { name: "contract", clock };
