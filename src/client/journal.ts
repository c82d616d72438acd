import { isSettled, type NewRecord, type OperationRecord } from "../core/record.js";
import { type OperationEvent, transition } from "../core/transition.js";
import { StoreError } from "../errors.js";
import type { Claimed, ClaimQuery, Inserted, Store } from "../store.js";
import type { Emitter } from "./events.js";
import type { Live } from "./live.js";
import type { ResolvedOptions } from "./options.js";
import type { Channel, Platform } from "./platform-port.js";

/** A store that can tell that the browser evicted what it held before. */
interface Resettable {
  readonly reset?: boolean;
}

/** All access to the store, and the news of every change: to handles, listeners and other tabs. */
export class Journal {
  readonly #options: ResolvedOptions;
  readonly #platform: Platform;
  readonly #emitter: Emitter;
  readonly #lives = new Map<string, Set<Live>>();
  readonly #onSignOut: (owner: string) => void;
  readonly #news = new Set<(record: OperationRecord) => void>();
  #store: Store | undefined;
  /** The store once it is open. */
  #ready: Store | undefined;
  #opening: Promise<Store> | undefined;
  #channel: Channel | undefined;
  #closed = false;

  constructor(options: ResolvedOptions, platform: Platform, emitter: Emitter, onSignOut: (owner: string) => void) {
    this.#options = options;
    this.#platform = platform;
    this.#emitter = emitter;
    this.#onSignOut = onSignOut;
  }

  /** The opened store. A failure is not kept: the next use tries again. */
  open(): Promise<Store> {
    if (this.#closed) return Promise.reject(new StoreError("unavailable", { detail: "the sdk is closed" }));
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Store> {
    this.#store ??= this.#options.store ?? this.#platform.defaultStore();
    const { name, clock } = this.#options;
    await this.#store.open({ name, clock });
    this.#channel ??= this.#platform.openChannel(name, (message) => {
      if (message.type === "signout") this.#onSignOut(message.owner);
      else if (this.#lives.has(message.id) || this.#news.size > 0) void this.refresh(message.id);
    });
    if ((this.#store as Resettable).reset) this.#emitter.emit("storereset", { name });
    this.#ready = this.#store;
    return this.#store;
  }

  async insert(record: NewRecord): Promise<Inserted> {
    const store = this.#ready ?? (await this.open());
    const inserted = await store.insert(record);
    if (!inserted.joined) this.#announce(undefined, inserted.record);
    return inserted;
  }

  async claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed> {
    const store = this.#ready ?? (await this.open());
    const before = new Map<string, OperationRecord>();
    const claimed = await store.claim(query, (record) => {
      before.set(record.id, record);
      return apply(record);
    });
    for (const record of claimed.records) this.#announce(before.get(record.id), record);
    return claimed;
  }

  /** Puts an event to a record, wherever it stands now. Answers with the record, or `undefined` if there is none. */
  async change(id: string, event: OperationEvent, base?: OperationRecord): Promise<OperationRecord | undefined> {
    return this.update(id, (record) => transition(record, event), base);
  }

  async update(
    id: string,
    apply: (record: OperationRecord) => OperationRecord | undefined,
    base?: OperationRecord,
  ): Promise<OperationRecord | undefined> {
    const store = this.#ready ?? (await this.open());
    let before: OperationRecord | undefined;
    const after = await store.update(
      id,
      (record) => {
        before = record;
        return apply(record);
      },
      base,
    );
    if (after && after !== before) this.#announce(before, after);
    return after;
  }

  /** Looks a record up and tells its handles. */
  async refresh(id: string): Promise<OperationRecord | undefined> {
    const store = await this.open();
    const record = await store.get(id);
    if (record) this.#tell(record);
    return record;
  }

  /** Keeps a live operation up to date. */
  register(live: Live, id: string): void {
    const lives = this.#lives.get(id) ?? new Set();
    this.#lives.set(id, lives);
    lives.add(live);
  }

  unregister(live: Live, id: string): void {
    const lives = this.#lives.get(id);
    lives?.delete(live);
    if (lives?.size === 0) this.#lives.delete(id);
  }

  livesOf(id: string): ReadonlySet<Live> {
    return this.#lives.get(id) ?? none;
  }

  lives(): Iterable<Live> {
    return [...this.#lives.values()].flatMap((lives) => [...lives]);
  }

  /** Calls back with every record that changed, here or in another tab. */
  onNews(listener: (record: OperationRecord) => void): () => void {
    this.#news.add(listener);
    return () => this.#news.delete(listener);
  }

  tellSignOut(owner: string): void {
    this.#channel?.post({ type: "signout", owner });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#channel?.close();
    await this.#opening?.catch(() => {});
    await this.#store?.close();
  }

  #announce(before: OperationRecord | undefined, after: OperationRecord): void {
    this.#tell(after);
    this.#channel?.post({ type: "changed", id: after.id, rev: after.rev });
    if (before === undefined) this.#emitter.emit("saved", after);
    if (after.mark && after.mark.attempt !== before?.mark?.attempt) this.#emitter.emit("attempt", after);
    else if (before?.mark && !after.mark && after.state === "pending") this.#emitter.emit("retry", after);
    const settled = isSettled(after) && !(before && isSettled(before));
    if (settled) this.#emitter.emit("settled", after);
    else if (before && after.state !== before.state && (after.state === "blocked" || after.state === "unresolved")) {
      this.#emitter.emit(after.state, after);
    }
  }

  #tell(record: OperationRecord): void {
    for (const live of this.livesOf(record.id)) {
      if (live.record && live.record.rev > record.rev) continue;
      live.record = record;
      live.changed();
    }
    for (const listener of this.#news) listener(record);
  }
}

const none: ReadonlySet<Live> = new Set();
