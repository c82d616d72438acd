/** The operations that are shown: read from the store again whenever something changes. */

import { OPEN_STATES, type OperationRecord, STATES } from "../core/record.js";
import type { Sdk } from "../index.js";

/** What may be shown. */
export type Filter = "open" | "settled" | "all";

/** So many are read to find the latest settled ones; nobody scrolls further. */
const READ = 2000;
const SHOWN = 200;

const events = ["saved", "attempt", "retry", "blocked", "settled", "unresolved", "ownerchange", "storereset"] as const;

/** The latest of them, newest first. */
export async function readRecords(sdk: Sdk, filter: Filter): Promise<readonly OperationRecord[]> {
  const states = STATES.filter((state) => filter === "all" || OPEN_STATES.includes(state) === (filter === "open"));
  const latest: OperationRecord[] = [];
  let read = 0;
  for await (const record of sdk.list({ states })) {
    if (filter !== "open" || !record.resolution) latest.push(record);
    if (latest.length > SHOWN) latest.shift();
    read += 1;
    if (read >= READ) break;
  }
  return latest.reverse();
}

/** Calls back, once for what happens together, when there may be something else to show. Answers with the way to stop. */
export function onChange(sdk: Sdk, changed: () => void): () => void {
  let isTold = false;
  const tell = (): void => {
    if (isTold) return;
    isTold = true;
    queueMicrotask(() => {
      isTold = false;
      changed();
    });
  };
  const stops = [sdk.pending.subscribe(tell), ...events.map((event) => sdk.on(event, tell))];
  return () => {
    for (const stop of stops) stop();
  };
}
