import type { OperationRecord, State } from "../core/record.js";
import type { Journal } from "./journal.js";
import { createSnapshot, Live, type Snapshot } from "./live.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";
import { isOver } from "./result.js";

const SHOWN: readonly State[] = ["pending", "blocked", "unresolved"];
const NOTHING: readonly Snapshot[] = Object.freeze([]);
/** A user interface shows no more; `list` pages through all. */
const LIMIT = 500;

/** The present owner's pending, blocked and unresolved operations, for user interfaces; live across tabs. */
export class PendingList {
  readonly #journal: Journal;
  readonly #owners: Owners;
  readonly #platform: Platform;
  readonly #listeners = new Set<() => void>();
  readonly #records = new Map<string, OperationRecord>();
  #snapshot: readonly Snapshot[] = NOTHING;
  #stop: (() => void) | undefined;

  /** @internal */
  constructor(journal: Journal, owners: Owners, platform: Platform) {
    this.#journal = journal;
    this.#owners = owners;
    this.#platform = platform;
  }

  /** Calls back when the list changes. Answers with the way to stop. */
  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    if (!this.#stop) {
      this.#stop = this.#journal.onNews((record) => this.#take([record]));
      void this.#load();
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  /** The list, oldest first: the same frozen array until something changes. Empty until it is subscribed to. */
  getSnapshot(): readonly Snapshot[] {
    return this.#snapshot;
  }

  async #load(): Promise<void> {
    const owner = this.#owners.present();
    this.#records.clear();
    try {
      const store = await this.#journal.open();
      this.#take(owner === undefined ? [] : await store.page({ owner, states: SHOWN, limit: LIMIT }));
    } catch {
      // A store that cannot be opened tells so to whoever saves or sends.
    }
  }

  #take(records: readonly OperationRecord[]): void {
    const owner = this.#owners.present();
    for (const record of records) {
      const known = this.#records.get(record.id);
      if (known && known.rev > record.rev) continue;
      if (record.owner === owner && SHOWN.includes(record.state) && !isDiscarded(record))
        this.#records.set(record.id, record);
      else this.#records.delete(record.id);
    }
    for (const [id, record] of this.#records) if (record.owner !== owner) this.#records.delete(id);
    const ordered = [...this.#records.values()].sort((a, b) => a.seq - b.seq);
    const offline = this.#platform.isOffline();
    this.#snapshot = Object.freeze(
      ordered.map((record) => createSnapshot(new Live(undefined, record), offline, undefined)),
    );
    for (const listener of [...this.#listeners]) listener();
  }
}

function isDiscarded(record: OperationRecord): boolean {
  return isOver(record) && record.resolution !== undefined;
}
