import { faultPoint } from "../core/fault-point.js";
import { changed } from "../core/fields.js";
import { isSettled, type NewRecord, needsSync, type OperationRecord, scheduleOf } from "../core/record.js";
import { type OperationEvent, transition } from "../core/transition.js";
import { SamekeyError, type StoreCode, StoreError } from "../errors.js";
import type {
  CallerTransaction,
  Claimed,
  ClaimQuery,
  Inserted,
  InsertLimits,
  ResealReport,
  Seal,
  Sealing,
  Store,
} from "../store.js";
import { bad, closedError } from "./checks.js";
import type { Emitter } from "./events.js";
import type { Live } from "./live.js";
import type { Observers } from "./observers.js";
import type { ResolvedOptions } from "./options.js";
import type { Channel, Message, Platform } from "./platform-port.js";
import { isInUse } from "./store-uses.js";

/** A store that can tell that the browser evicted what it held before. */
interface Resettable {
  readonly reset?: boolean;
}

type Change = (record: OperationRecord) => OperationRecord | undefined;

const NONE: readonly Live[] = [];

/** Hears of every record that changed, here or in another tab; of `undefined` when it was removed. */
export type NewsListener = (id: string, record: OperationRecord | undefined) => void;

/** All access to the store, and the news of every change: to handles, listeners and other tabs. */
export class Journal {
  readonly #options: ResolvedOptions;
  readonly #platform: Platform;
  readonly #emitter: Emitter;
  readonly #observers: Observers;
  readonly #lives = new Map<string, readonly Live[]>();
  readonly #news = new Set<NewsListener>();
  #store: Store | undefined;
  /** The store once it is open. */
  #ready: Store | undefined;
  #opening: Promise<Store> | undefined;
  #channel: Channel | undefined;
  #closed = false;
  #wasReset = false;
  #isUser = false;
  /** Called when an owner signed out in another tab. */
  onSignOut: (owner: string) => void = () => {};
  /** Called when another tab has taken a lease. */
  onHolder: (holder: string) => void = () => {};
  /** Called when another tab has left an operation to whoever comes first. */
  onFree: (id: string) => void = () => {};

  constructor(options: ResolvedOptions, platform: Platform, emitter: Emitter, observers: Observers) {
    this.#options = options;
    this.#platform = platform;
    this.#emitter = emitter;
    this.#observers = observers;
  }

  /**
   * The opened store. A failure is not kept: the next use tries again.
   *
   * @throws StoreError whatever the store throws
   */
  open(): Promise<Store> {
    if (this.#closed) return Promise.reject(closedError());
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw asStoreError(error);
    });
    return this.#opening;
  }

  /** What has to be sealed beforehand, and can be opened again; known once the store is open. */
  get sealing(): Sealing | undefined {
    return this.#ready?.sealing;
  }

  async #open(): Promise<Store> {
    const { name, clock, seal, store } = this.#options;
    this.#store ??= this.#observers.store(sealedBy(seal, store ?? this.#platform.defaultStore()));
    await this.#store.open({ name, clock });
    if (store && !this.#isUser) this.#isUser = isInUse(store, 1);
    this.#line();
    this.#noticeReset(this.#store);
    if (!this.#closed) this.#ready = this.#store;
    return this.#store;
  }

  /** Told once; it may happen under an open page too. */
  #noticeReset(store: Store & Resettable): void {
    if (this.#wasReset || !store.reset) return;
    this.#wasReset = true;
    this.#emitter.emit("storereset", { name: this.#options.name });
  }

  #line(): Channel | undefined {
    if (this.#closed) return undefined;
    const receive = (message: Message): void => {
      if (message.type === "signout") {
        this.onSignOut(message.owner);
        return;
      }
      if (message.holder !== undefined) this.onHolder(message.holder);
      if (message.free) this.onFree(message.id);
      // What cannot be read now is told by whoever needs it.
      if (this.#lives.has(message.id) || this.#news.size > 0) this.refresh(message.id).catch(() => {});
    };
    this.#channel ??= this.#store?.openChannel?.(receive) ?? this.#platform.openChannel(this.#options.name, receive);
    return this.#channel;
  }

  /** @throws StoreError when it cannot be known that the record is durable */
  insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    FAULT: faultPoint("record:before");
    const inserting = this.#ready
      ? this.#ready.insert(record, limits)
      : this.open().then((store) => store.insert(record, limits));
    return inserting.then(this.#inserted, notDurable);
  }

  readonly #inserted = (inserted: Inserted): Inserted => {
    FAULT: faultPoint("record:after");
    if (this.#store) this.#noticeReset(this.#store);
    if (!inserted.joined) this.#announce(undefined, inserted.record);
    return inserted;
  };

  /** Tells nobody: whether the caller commits it is not known here. @throws MisuseError `bad_option` */
  async insertWithin(tx: CallerTransaction, record: NewRecord, limits: InsertLimits): Promise<Inserted> {
    const store = this.#ready ?? (await this.open());
    if (!store.insertWithin) bad("`tx` needs a store in the database whose transaction it is: see `postgresStore`");
    return store.insertWithin(tx, record, limits);
  }

  /** Tells of a record that was inserted within a transaction, once it is committed. Answers whether it is. */
  async confirm(id: string): Promise<boolean> {
    const store = await this.open();
    const record = await store.get(id);
    if (!record) return false;
    this.#tell(id, record);
    this.#emitter.emit("saved", record);
    return true;
  }

  async claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed> {
    const store = this.#ready ?? (await this.open());
    const before = new Map<string, OperationRecord>();
    FAULT: faultPoint("claim:before");
    const claimed = await store.claim(query, (record) => {
      before.set(record.id, record);
      return apply(record);
    });
    FAULT: faultPoint("claim:after");
    this.#noticeReset(store);
    for (const record of claimed.records) this.#announce(before.get(record.id), record);
    return claimed;
  }

  /** Puts an event to a record, wherever it stands now. Answers with the record, or `undefined` if there is none. */
  change(id: string, event: OperationEvent, base?: OperationRecord): Promise<OperationRecord | undefined> {
    const { sealing } = this;
    if (!sealing || event.type !== "answer" || !event.response) return this.#put(id, event, base);
    return sealing.response(id, event.response).then((response) => this.#put(id, { ...event, response }, base));
  }

  #put(id: string, event: OperationEvent, base: OperationRecord | undefined): Promise<OperationRecord | undefined> {
    // An id that a caller gives may be that of an operation since removed: what came of it is not news of the next one.
    const apply = (record: OperationRecord): OperationRecord =>
      base && base.seq !== record.seq ? record : transition(record, event);
    return this.update(id, apply, base);
  }

  async update(id: string, apply: Change, base?: OperationRecord): Promise<OperationRecord | undefined> {
    const store = this.#ready ?? (await this.open());
    let before: OperationRecord | undefined;
    const watched: Change = (record) => {
      before = record;
      return apply(record);
    };
    const after = await store.update(id, watched, base);
    this.#noticeReset(store);
    if (!after) this.#lose(id);
    else if (after.rev !== before?.rev) this.#announce(before, after);
    return after;
  }

  /**
   * Tells the handles of a success while it is being written: losing that write costs one replay, so it need not be
   * waited for. Everything else is told once it is durable.
   */
  foretell(record: OperationRecord, event: OperationEvent): void {
    const lives = this.livesOf(record.id);
    if (lives.length === 0) return;
    const after = transition(record, event);
    if (after.state !== "succeeded" || needsSync(record, after)) return;
    for (const live of lives) {
      if (!isNews(live, record)) continue;
      live.record = changed(after, { rev: record.rev + 1 });
      live.changed();
    }
  }

  /** @throws MisuseError `bad_option` when there is no seal */
  async reseal(): Promise<ResealReport> {
    const { sealing } = await this.open();
    return sealing ? sealing.reseal() : bad("`reseal` needs `seal` of createSdk, whose first key it seals under");
  }

  /** Looks a record up and tells its handles. */
  async refresh(id: string): Promise<OperationRecord | undefined> {
    const store = await this.open();
    const record = await store.get(id);
    this.#tell(id, record);
    return record;
  }

  /** Keeps a live operation up to date. */
  register(live: Live, id: string): void {
    const lives = this.livesOf(id);
    if (!lives.includes(live)) this.#lives.set(id, [...lives, live]);
  }

  unregister(live: Live, id: string): void {
    const others = this.livesOf(id).filter((other) => other !== live);
    if (others.length > 0) this.#lives.set(id, others);
    else this.#lives.delete(id);
  }

  livesOf(id: string): readonly Live[] {
    return this.#lives.get(id) ?? NONE;
  }

  lives(): readonly Live[] {
    return [...this.#lives.values()].flat();
  }

  /** Calls back with every record that changed. Answers with the way to stop. */
  onNews(listener: NewsListener): () => void {
    this.#news.add(listener);
    return () => this.#news.delete(listener);
  }

  tellSignOut(owner: string): void {
    this.#line()?.post({ type: "signout", owner });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#ready = undefined;
    this.#channel?.close();
    this.#channel = undefined;
    await this.#opening?.catch(() => {});
    const { store } = this.#options;
    // Another sdk may have been given the same one.
    if (!(this.#isUser && store && isInUse(store, -1))) await this.#store?.close();
    this.#isUser = false;
  }

  #announce(before: OperationRecord | undefined, after: OperationRecord): void {
    this.#tell(after.id, after);
    this.#channel?.post(newsOf(after));
    if (before === undefined) this.#emitter.emit("saved", after);
    if (after.mark && after.mark.attempt !== before?.mark?.attempt) this.#emitter.emit("attempt", after);
    else if (before?.mark && !after.mark && after.state === "pending") this.#emitter.emit("retry", after);
    const settled = isSettled(after) && !(before && isSettled(before));
    if (settled) this.#emitter.emit("settled", after);
    else if (before && after.state !== before.state && (after.state === "blocked" || after.state === "unresolved")) {
      if (after.state === "blocked") {
        const message = `blocked: ${after.blockedBy ?? after.code}`;
        this.#options.log({ level: "warn", message, id: after.id, name: after.name });
      }
      this.#emitter.emit(after.state, after);
    }
  }

  #lose(id: string): void {
    this.#tell(id, undefined);
    this.#channel?.post({ type: "changed", id });
  }

  #tell(id: string, record: OperationRecord | undefined): void {
    for (const live of this.livesOf(id)) {
      if (record && !isNews(live, record)) continue;
      const isNext = record && live.record && record.seq !== live.record.seq;
      if (record && !isNext) live.record = record;
      else live.gone = live.record !== undefined;
      live.changed();
    }
    // The write stands, whatever a listener (or the program's own `owner`, which it asks) throws.
    for (const listener of this.#news) this.#emitter.call(() => listener(id, record));
  }
}

/** Nothing older than what it has, and nobody else's operation whose id its call happens to name. */
function isNews({ record: known, draft }: Live, record: OperationRecord): boolean {
  if (known) return known.seq < record.seq || (known.seq === record.seq && known.rev <= record.rev);
  return draft === undefined || draft.owner === record.owner;
}

/** What other tabs are told of a change. */
function newsOf(record: OperationRecord): Message {
  const { id, lease } = record;
  const free = lease === undefined && scheduleOf(record) !== undefined;
  return { type: "changed", id, holder: lease?.holder, free };
}

function sealedBy(seal: Seal | undefined, store: Store): Store {
  return seal ? seal.over(store) : store;
}

function notDurable(cause: unknown): never {
  throw asStoreError(cause, "not_durable");
}

function asStoreError(cause: unknown, code: StoreCode = "unavailable"): SamekeyError {
  return cause instanceof SamekeyError ? cause : new StoreError(code, { cause });
}
