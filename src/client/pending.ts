import { OPEN_STATES, type OperationRecord } from "../core/record.js";
import type { Emitter } from "./events.js";
import type { Journal } from "./journal.js";
import { createSnapshot, isSameSnapshot, Live, type Snapshot } from "./live.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";

const NOTHING: readonly Snapshot[] = Object.freeze([]);
/** A user interface shows no more; `list` pages through all. */
const LIMIT = 500;

/** The present owner's pending, blocked and unresolved operations, for user interfaces; live across tabs. */
export class PendingList {
  readonly #journal: Journal;
  readonly #owners: Owners;
  readonly #platform: Platform;
  readonly #emitter: Emitter;
  readonly #listeners = new Set<() => void>();
  readonly #lives = new Map<string, Live>();
  readonly #shown = new Map<string, Snapshot>();
  #snapshot: readonly Snapshot[] = NOTHING;
  #stop: (() => void) | undefined;

  /** @internal */
  constructor(journal: Journal, owners: Owners, platform: Platform, emitter: Emitter) {
    this.#journal = journal;
    this.#owners = owners;
    this.#platform = platform;
    this.#emitter = emitter;
  }

  /** Calls back when the list changes. Answers with the way to stop. */
  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#stop ??= this.#begin();
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

  /** @internal Someone else is signed in. */
  reload(): void {
    if (this.#stop) void this.#load();
  }

  #begin(): () => void {
    const stops = [
      this.#journal.onNews((id, record) => {
        this.#take(id, record);
        this.#show();
      }),
      this.#platform.onWake(() => this.#show()),
    ];
    void this.#load();
    return () => {
      for (const stop of stops) stop();
      // Whoever looks next may be someone else.
      this.#lives.clear();
      this.#shown.clear();
      this.#snapshot = NOTHING;
    };
  }

  async #load(): Promise<void> {
    this.#lives.clear();
    this.#show();
    const owner = this.#owners.present();
    if (owner === undefined) return;
    try {
      const store = await this.#journal.open();
      for (const record of await store.page({ owner, states: OPEN_STATES, limit: LIMIT }))
        this.#take(record.id, record);
      this.#show();
    } catch {
      // A store that cannot be opened tells so to whoever saves or sends.
    }
  }

  #take(id: string, record: OperationRecord | undefined): void {
    const live = this.#lives.get(id);
    if (record && live?.record && live.record.rev > record.rev) return;
    const isShown = record && record.owner === this.#owners.present() && OPEN_STATES.includes(record.state);
    if (!isShown || record.resolution) this.#lives.delete(id);
    else if (live) live.record = record;
    else this.#lives.set(id, new Live(undefined, record));
  }

  #show(): void {
    const owner = this.#owners.present();
    const offline = this.#platform.isOffline();
    const order = ({ record }: Live): number => record?.seq ?? 0;
    const lives = [...this.#lives.values()].filter(({ record }) => record?.owner === owner);
    const next = lives.sort((a, b) => order(a) - order(b)).map((live) => this.#snapshotOf(live, offline));
    if (next.length === this.#snapshot.length && next.every((item, index) => item === this.#snapshot[index])) return;
    this.#shown.clear();
    for (const item of next) this.#shown.set(item.id ?? "", item);
    this.#snapshot = Object.freeze(next);
    for (const listener of [...this.#listeners]) this.#emitter.call(listener);
  }

  #snapshotOf(live: Live, offline: boolean): Snapshot {
    const last = this.#shown.get(live.id ?? "");
    const next = createSnapshot(live, offline);
    return last && isSameSnapshot(last, next) ? last : next;
  }
}
