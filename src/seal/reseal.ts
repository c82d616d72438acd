import { keyOfSealedHash, type OperationRecord } from "../core/record.js";
import type { ResealReport, Store } from "../store.js";
import type { Cipher } from "./cipher.js";
import { sealParts } from "./parts.js";

const STEP = 100;
/** How often a record that changes meanwhile is read anew. */
const TRIES = 10;

type Open = (record: OperationRecord) => Promise<OperationRecord>;

/** Seals whatever is not sealed under the first key under that one, a page at a time. */
export async function reseal(store: Store, cipher: Cipher, open: Open): Promise<ResealReport> {
  const report = { resealed: 0, left: 0 };
  for (let after: number | undefined; ; ) {
    const records = await store.page({ limit: STEP, after });
    const jobs = records.filter((record) => isWanting(record, cipher.current));
    for (const done of await Promise.all(jobs.map((record) => resealOne(store, cipher, record, open)))) {
      report[done ? "resealed" : "left"] += 1;
    }
    after = records.at(-1)?.seq;
    if (records.length < STEP) return report;
  }
}

/** Answers whether nothing of it is left in the clear, or under another key. */
async function resealOne(store: Store, cipher: Cipher, found: OperationRecord, open: Open): Promise<boolean> {
  let record = found;
  for (let tries = 0; tries < TRIES; tries++) {
    const opened = await open(record);
    const { id, rev, request, response, hash } = opened;
    if (request.sealed || response?.sealed || keyOfSealedHash(hash) !== undefined) return false;
    const sealed = await sealParts(cipher, opened);
    const after = await store.update(id, (standing) => (standing.rev === rev ? { ...standing, ...sealed } : standing));
    if (!after || !isWanting(after, cipher.current)) return true;
    record = after;
  }
  return false;
}

function isWanting({ request, response, hash }: OperationRecord, current: string): boolean {
  return (
    (request.body !== undefined && request.sealed?.key !== current) ||
    (response !== undefined && !response.pruned && response.sealed?.key !== current) ||
    (hash !== undefined && keyOfSealedHash(hash) !== current)
  );
}
