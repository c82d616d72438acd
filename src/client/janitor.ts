import { comparableBytes } from "../core/compare.js";
import { faultPoint } from "../core/fault-point.js";
import { holdsIntent, isSettled, type OperationRecord } from "../core/record.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";
import { pages } from "./pages.js";
import type { Platform } from "./platform-port.js";

const STEP = 100;

/**
 * Drops what is past its keep time, in small steps: bodies and answers first, the memory of the intent later. Only
 * settled records whose hook has had them.
 *
 * @param onStep - told of every step how many records were removed or stripped so far
 * @returns how many records were removed or stripped
 */
export async function prune(
  journal: Pick<Journal, "open" | "update">,
  options: Pick<ResolvedOptions, "clock" | "keepFor" | "rememberIntents">,
  platform: Pick<Platform, "digest">,
  onStep?: (pruned: number) => void,
): Promise<number> {
  const store = await journal.open();
  const settledBefore = options.clock.now() - options.keepFor;
  const forgottenBefore = settledBefore - options.rememberIntents;
  let pruned = 0;
  for await (const records of pages(store, { settledBefore, limit: STEP })) {
    const targets = records.filter(isPrunable);
    const jobs = targets.map(async (record) => {
      const isRemembered = record.intent !== undefined && holdsIntent(record);
      if (!isRemembered || (record.settledAt ?? 0) < forgottenBefore) return () => undefined;
      // What cannot be opened keeps its body, which alone tells whether another request is the same.
      if (record.hash !== undefined || record.request.sealed) return undefined;
      // Digests are made before the transaction: nothing foreign may be awaited inside one.
      const digest = await platform.digest(comparableBytes(record.request));
      const hash = (await store.sealing?.hash(record.id, digest)) ?? digest;
      return (standing: OperationRecord) => strip(standing, hash);
    });
    const changes = await Promise.all(jobs);
    FAULT: faultPoint("prune:before");
    const writes = changes.map((change, index) => {
      const target = targets[index];
      if (!change || !target) return undefined;
      pruned++;
      return journal.update(target.id, (standing) => (isPrunable(standing) ? change(standing) : standing));
    });
    await Promise.all(writes);
    onStep?.(pruned);
  }
  FAULT: faultPoint("prune:after");
  return pruned;
}

function isPrunable(record: OperationRecord): boolean {
  return isSettled(record) && record.delivered;
}

/** A tombstone: enough to answer that the intent was done, and whether it was the same request. */
function strip(record: OperationRecord, hash: string): OperationRecord {
  const { response, request } = record;
  return {
    ...record,
    hash,
    history: [],
    request: { ...request, body: undefined, sealed: undefined },
    response: response && {
      status: response.status,
      headers: {},
      body: undefined,
      replayed: response.replayed,
      pruned: true,
    },
  };
}
