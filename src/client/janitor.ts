import { comparableBytes } from "../core/compare.js";
import { faultPoint } from "../core/fault-point.js";
import { holdsIntent, isBare, type OperationRecord, prunableSince } from "../core/record.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";
import type { Platform } from "./platform-port.js";

/** Few enough to be written within a few milliseconds, and synced within a moment also by a slow disk. */
const STEP = 32;
/** Between two steps of a long pruning, so that others who write to the store get their turn, in milliseconds. */
export const PAUSE = 5;
/** The longest and the shortest time between two goings-through, in milliseconds. */
const SELDOM = 3_600_000;
const OFTEN = 1_000;

/** What pruning is done with. */
export interface PruneParts {
  readonly journal: Pick<Journal, "open" | "update">;
  readonly options: Pick<ResolvedOptions, "clock" | "keepFor" | "rememberIntents">;
  readonly platform: Pick<Platform, "digest">;
}

/** Where one going-through stands: first what only remembers an intent, which makes room, then what is whole; the oldest first. */
interface Pass {
  bare: boolean;
  after: OperationRecord | undefined;
  done: boolean;
}

const begin = (): Pass => ({ bare: true, after: undefined, done: false });

/**
 * Drops what is past its keep time, in small steps: bodies and answers, and later the memory of the intent. Only
 * settled records whose hook has had them.
 *
 * @param onStep - told of every step how many records were removed or stripped so far
 * @returns how many records were removed or stripped
 */
export async function prune(
  parts: PruneParts,
  onStep?: (pruned: number) => void,
  signal?: AbortSignal,
): Promise<number> {
  let pruned = 0;
  for (const pass = begin(); !signal?.aborted; ) {
    const step = await pruneStep(parts, pass);
    if (pass.done) break;
    pruned += step;
    onStep?.(pruned);
    if (step === STEP) await parts.options.clock.sleep(PAUSE);
  }
  return pruned;
}

/** Prunes now and then, a step at a time: between two of them whoever drives looks for work. */
export class Janitor {
  readonly #parts: PruneParts;
  /** Where little is kept, what is past its time must not pile up to many times that, in milliseconds. */
  readonly #every: number;
  #pass: Pass | undefined;
  #since: number | undefined;

  constructor(parts: PruneParts) {
    this.#parts = parts;
    this.#every = Math.min(SELDOM, Math.max(OFTEN, parts.options.keepFor / 4));
  }

  /** Makes a step if it is time for one; answers whether there is more to do. */
  async tidy(now: number): Promise<boolean> {
    if (!this.#pass && this.#since !== undefined && Math.abs(now - this.#since) < this.#every) return false;
    const pass = this.#pass ?? begin();
    this.#since = now;
    this.#pass = undefined;
    await pruneStep(this.#parts, pass);
    if (!pass.done) this.#pass = pass;
    return !pass.done;
  }

  /** As `tidy`, for those who are never idle: only once it has waited for its time to come round again. */
  async hurry(now: number): Promise<void> {
    this.#since ??= now;
    if (this.#pass || Math.abs(now - this.#since) >= 2 * this.#every) await this.tidy(now);
  }
}

/** Goes through a few records; answers how many of them were pruned. */
async function pruneStep(parts: PruneParts, pass: Pass): Promise<number> {
  const { journal, options, platform } = parts;
  const store = await journal.open();
  const settledBefore = options.clock.now() - options.keepFor;
  const forgottenBefore = settledBefore - options.rememberIntents;
  const { bare, after } = pass;
  const before = bare ? forgottenBefore : settledBefore;
  const records = await store.prunable({ settledBefore: before, bare, after, limit: STEP });
  pass.after = records.at(-1);
  if (records.length === 0) {
    pass.done = !bare;
    pass.bare = false;
    return bare ? pruneStep(parts, pass) : 0;
  }
  const changes = await Promise.all(
    records.map(async (record) => {
      const isRemembered = record.intent !== undefined && holdsIntent(record);
      if (!isRemembered || (prunableSince(record) ?? 0) < forgottenBefore) return () => undefined;
      // What cannot be opened keeps its body, which alone tells whether another request is the same.
      if (record.request.sealed) return undefined;
      // Digests are made before the transaction: nothing foreign may be awaited inside one.
      const digest = await platform.digest(comparableBytes(record.request));
      const hash = (await store.sealing?.hash(record.id, digest)) ?? digest;
      return (standing: OperationRecord) => (isBare(standing) ? standing : strip(standing, hash));
    }),
  );
  FAULT: faultPoint("prune:before");
  const written = await Promise.all(
    records.map(async (record, i) => {
      const change = changes[i];
      if (!change) return 0;
      const apply = (standing: OperationRecord) =>
        prunableSince(standing) === undefined ? standing : change(standing);
      const after = await journal.update(record.id, apply, record);
      return Number(after?.rev !== record.rev);
    }),
  );
  FAULT: faultPoint("prune:after");
  return written.reduce((sum, n) => sum + n, 0);
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
