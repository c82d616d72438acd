import type { OperationRecord } from "../core/record.js";
import { transition } from "../core/transition.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";
import type { Worker } from "./worker.js";

const PAUSE = 1_000;
const PAUSE_CAP = 60_000;

/** What the doubts are built from. */
export interface DoubtsParts {
  readonly options: ResolvedOptions;
  readonly journal: Journal;
  readonly worker: Worker;
}

/**
 * Records of which nobody knows whether they were committed. They were not sent: they are canceled as soon as the store
 * answers, and nobody works on them until then.
 */
export class Doubts {
  readonly #parts: DoubtsParts;
  /** By intent, or by id. */
  readonly #doubts = new Map<string, readonly OperationRecord[]>();
  /** What is being recorded or sent here under ids that callers gave: another's doubt about such an id is not about it. */
  readonly #named = new Set<OperationRecord>();

  /** The ids of what is being inserted. A claim in the same transaction would share its unknown fate, and stay for good. */
  readonly #inserting = new Set<string>();

  constructor(parts: DoubtsParts) {
    this.#parts = parts;
    parts.worker.isWithheld = (id) =>
      this.#inserting.has(id) || [...this.#doubts.values()].some((some) => some.some((own) => own.id === id));
  }

  /** Hands a doubt over to whoever records the same again. */
  take(key: string): readonly OperationRecord[] {
    const doubts = this.#doubts.get(key);
    if (!doubts) return NONE;
    this.#doubts.delete(key);
    return doubts;
  }

  /** Nobody here works on this id until it is released. */
  withhold(id: string): void {
    this.#inserting.add(id);
  }

  release(id: string): void {
    this.#inserting.delete(id);
  }

  name(record: OperationRecord): void {
    this.#named.add(record);
  }

  unname(record: OperationRecord): void {
    this.#named.delete(record);
  }

  /** Cancels these records as soon as the store answers. */
  async withdraw(key: string, records: readonly OperationRecord[]): Promise<void> {
    const { journal, options, worker } = this.#parts;
    if (records.length === 0) return;
    this.#doubts.set(key, records);
    // Whoever records the same again takes the doubt over.
    const isMine = (): boolean => !worker.closed && this.#doubts.get(key) === records;
    for (let pause = PAUSE; isMine(); pause = Math.min(pause * 2, PAUSE_CAP)) {
      try {
        const cancel = (found: OperationRecord, own: OperationRecord): OperationRecord => {
          const unbegun = this.#unbegun(found, own);
          if (!isMine() || !this.#isOwn(found, own) || unbegun.mark || unbegun.state !== "pending") return found;
          return transition(unbegun, { type: "cancel", at: options.clock.now(), hook: false });
        };
        const found = await Promise.all(records.map((own) => journal.update(own.id, (record) => cancel(record, own))));
        // Not there: a commit may still be under way, but not for so long.
        if (isMine() && (found.some(Boolean) || pause === PAUSE_CAP)) this.#doubts.delete(key);
      } catch {
        // It does not answer yet.
      }
      if (isMine()) await options.clock.sleep(pause, undefined, true);
    }
  }

  /** A record that this process wrote without knowing was never sent, whatever its mark says. */
  async takeOver(standing: OperationRecord, doubts: readonly OperationRecord[]): Promise<OperationRecord> {
    const own = doubts.find(({ id }) => id === standing.id);
    if (!own || this.#unbegun(standing, own) === standing) return standing;
    return (await this.#parts.journal.update(own.id, (found) => this.#unbegun(found, own))) ?? standing;
  }

  /** The record that was written here, and nobody has worked on since; not one that another wrote under the same id. */
  #isOwn(found: OperationRecord, own: OperationRecord): boolean {
    const isSame = found.key === own.key && found.createdAt === own.createdAt && found.fence === own.fence;
    const isHeldByOther = found.lease !== undefined && found.lease.holder !== own.lease?.holder;
    return isSame && !isHeldByOther && ![...this.#named].some((other) => other.id === own.id && other !== own);
  }

  /** The record without the attempt that was to begin with it. */
  #unbegun(found: OperationRecord, own: OperationRecord): OperationRecord {
    if (!found.mark || !this.#isOwn(found, own)) return found;
    const at = this.#parts.options.clock.now();
    const entry = { at, ms: 0, verdict: "not_sent" };
    return transition(found, { type: "unsent", at, fence: own.fence, entry, delay: 0, hook: false });
  }
}

const NONE: readonly OperationRecord[] = [];
