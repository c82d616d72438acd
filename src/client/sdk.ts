import { type Duration, toMs } from "../core/durations.js";
import type { OperationRecord } from "../core/record.js";
import type { Counts, ResealReport } from "../store.js";
import { bad, closedError, duration, unknownOperation } from "./checks.js";
import { Diagnosis } from "./diagnosis.js";
import { createDiscovery, type Discovery } from "./discovery.js";
import { createDraft, type Draft } from "./draft.js";
import { Drain, type ResumeReport } from "./drain.js";
import { Emitter } from "./events.js";
import { createFetch, type SdkFetch } from "./fetch.js";
import { type FetchScope, originScope } from "./fetch-scope.js";
import { Gate } from "./gate.js";
import { Handle, type OperationHandle } from "./handle.js";
import { prune } from "./janitor.js";
import { Journal } from "./journal.js";
import { Leases } from "./leases.js";
import { Live } from "./live.js";
import { Observers } from "./observers.js";
import { Operator } from "./operator.js";
import { type ResolvedOptions, resolveOptions } from "./options.js";
import { Origins } from "./origins.js";
import { Owners } from "./owners.js";
import { pages } from "./pages.js";
import { PendingList } from "./pending.js";
import type { Platform } from "./platform-port.js";
import { Recorder } from "./recorder.js";
import { readError } from "./result.js";
import { Room, type StorageStatus } from "./room.js";
import { EVENTS, type SdkEvents } from "./sdk-events.js";
import type { IntentReference, ListFilter, OwnerFilter, PruneOptions, ResumeOptions, Sdk } from "./sdk-interface.js";
import type { ObservedSdk } from "./telemetry.js";
import type { CallOptions, Operations, SdkOptions } from "./types.js";
import { Waiting } from "./waiting.js";
import { Worker } from "./worker.js";

/** @internal */
export function createSdkWith<Ops extends Operations>(options: SdkOptions<Ops>, platform: Platform): Sdk<Ops> {
  return createSdkOver(resolveOptions(options, platform), platform);
}

/** @internal */
export function createSdkOver<Ops extends Operations>(
  options: ResolvedOptions,
  platform: Platform,
  scope?: FetchScope,
): Sdk<Ops> {
  return new SamekeySdk(options, platform, scope) as unknown as Sdk<Ops>;
}

class SamekeySdk {
  readonly name: string;
  readonly fetch: SdkFetch;
  readonly pending: PendingList;
  readonly #options: ResolvedOptions;
  readonly #platform: Platform;
  readonly #baseUrl: () => string | undefined;
  readonly #emitter: Emitter;
  readonly #owners: Owners;
  readonly #journal: Journal;
  readonly #leases: Leases;
  readonly #discovery: Discovery;
  readonly #worker: Worker;
  readonly #recorder: Recorder;
  readonly #operator: Operator;
  readonly #drain: Drain;
  readonly #room: Room;
  readonly #release: () => void;
  #closing: Promise<void> | undefined;

  constructor(options: ResolvedOptions, platform: Platform, scope?: FetchScope) {
    const { clock, random, concurrency, log } = options;
    this.#options = options;
    this.#platform = platform;
    this.name = options.name;
    this.#baseUrl = () => options.baseUrl ?? platform.defaultBaseUrl();
    this.#emitter = new Emitter(log);
    this.#owners = new Owners(options.owner, this.#emitter);
    const observers = new Observers([...platform.telemetry, ...options.telemetry], this.#observed(), log);
    this.#journal = new Journal(options, platform, this.#emitter, observers);
    this.#journal.onSignOut = (owner) => this.#signedOut(owner);
    const holder = platform.createHolder(random);
    this.#release = () => {
      holder.release();
      observers.close();
    };
    this.#leases = new Leases(options, this.#journal, holder);
    const origins = new Origins(random, concurrency);
    const gate = new Gate(origins, clock, concurrency);
    const waiting = new Waiting(clock, platform);
    const shared = { options, platform, observers, journal: this.#journal, leases: this.#leases, owners: this.#owners };
    const given = options.fetch;
    // A platform's fetch refuses to be called as another object's method.
    const fetch: typeof globalThis.fetch = (input, init) => (given ?? globalThis.fetch)(input, init);
    const baseOrigin = (): string | undefined => originOf(this.#baseUrl());
    const diagnosis = new Diagnosis(options, platform, this.#journal, fetch);
    this.#discovery = createDiscovery(options, fetch, baseOrigin);
    const discovery = this.#discovery;
    this.#worker = new Worker({ ...shared, diagnosis, discovery, origins, gate, holder, fetch, baseOrigin });
    const worker = this.#worker;
    this.#recorder = new Recorder({ ...shared, gate, worker });
    const emitter = this.#emitter;
    this.#operator = new Operator({ ...shared, recorder: this.#recorder, waiting, worker, emitter });
    this.#drain = new Drain({ ...shared, origins, gate, waiting, worker, emitter });
    this.#room = new Room(options, this.#journal, emitter);
    this.pending = new PendingList(this.#journal, this.#owners, platform, emitter);
    this.fetch = createFetch({
      options,
      scope: scope ?? originScope(this.#baseUrl, options),
      passThrough: fetch,
      pageOrigin: () => originOf(platform.defaultBaseUrl()),
      digest: (bytes) => platform.digest(bytes),
      owner: () => this.#owners.asked(),
      get: (id) => this.get(id, { owner: "*" }),
      drive: (draft, send) => this.#operator.drive(this.#join(draft, true), send),
    });
    this.#emitter.on("ownerchange", () => {
      this.#operator.tellAll();
      this.pending.reload();
    });
  }

  operation(name: string, body?: unknown, call: CallOptions = {}): OperationHandle {
    try {
      const operation = this.#options.operations.get(name);
      if (!operation)
        throw unknownOperation(
          `${JSON.stringify(name)}; declared are ${[...this.#options.operations.keys()].join(", ")}`,
        );
      const draft = createDraft(body, call, {
        operation,
        baseUrl: this.#baseUrl(),
        owner: () => this.#owners.asked(),
        now: this.#options.clock.now(),
        random: this.#options.random,
      });
      let mine: Live | undefined;
      return new Handle(this.#operator, (acting) => {
        if (!mine?.saved) mine = this.#join(draft, acting, mine);
        return mine;
      });
    } catch (fault) {
      return new Handle(this.#operator, () => {
        throw fault;
      });
    }
  }

  attach(reference: string | IntentReference, filter?: OwnerFilter): OperationHandle {
    const live = new Live();
    return new Handle(this.#operator, () => {
      if (!live.saved) {
        live.saved = this.#lookUp(reference, filter, live);
        live.saved.catch(() => {
          // Told to whoever saves or sends; asked anew the next time.
          live.saved = undefined;
        });
      }
      return live;
    });
  }

  start(): void {
    if (this.#closing) throw closedError();
    this.#owners.signIn();
    void this.#discovery.refresh();
    this.#drain.start();
  }

  stop(): void {
    this.#drain.stop();
  }

  async resume(options: ResumeOptions = {}): Promise<ResumeReport> {
    this.#owners.signIn();
    const { owner, signal, onProgress, wait = "30s" } = options;
    return this.#drain.resume({ owner, signal, onProgress, wait: toMs(wait, "wait") });
  }

  async get(id: string, filter?: OwnerFilter): Promise<OperationRecord | undefined> {
    const owner = this.#whose(filter);
    const store = await this.#journal.open();
    const record = await store.get(id);
    return owner === "*" || record?.owner === owner ? record : undefined;
  }

  async find({ name, intent, owner }: IntentReference): Promise<OperationRecord | undefined> {
    const whose = this.#whose({ owner });
    if (whose === undefined) return undefined;
    const store = await this.#journal.open();
    return store.find(whose, name, intent);
  }

  async *list(filter: ListFilter = {}): AsyncIterableIterator<OperationRecord> {
    const owner = this.#whose(filter);
    if (owner === undefined) return;
    const store = await this.#journal.open();
    const narrowed = { ...filter, owner: owner === "*" ? undefined : owner };
    for await (const records of pages(store, narrowed)) yield* records;
  }

  async counts(filter?: OwnerFilter): Promise<Counts> {
    const owner = this.#whose(filter);
    if (owner === undefined) return {};
    const store = await this.#journal.open();
    return store.counts(owner === "*" ? undefined : owner);
  }

  cancel(id: string): Promise<OperationRecord> {
    return this.#operator.cancel(id);
  }

  async retry(id: string): Promise<OperationRecord> {
    const record = await this.#operator.decide(id, (common, standing) => {
      return { ...common, type: "retry", serverAt: this.#worker.serverTime(standing) };
    });
    // It was blocked, and its time is over: that was written down instead.
    if (record.state === "unresolved" && !record.resolution) throw await readError(record);
    return record;
  }

  async discard(id: string, why: { readonly reason: string }): Promise<OperationRecord> {
    const reason = why?.reason;
    if (typeof reason !== "string" || reason === "") bad("`discard` needs a reason, which is kept with the record");
    return this.#operator.decide(id, (common) => ({ ...common, type: "discard", reason }));
  }

  async reconcile(id: string, outcome: "applied" | "not-applied"): Promise<OperationRecord> {
    if (outcome !== "applied" && outcome !== "not-applied") bad('`reconcile` takes "applied" or "not-applied"');
    return this.#operator.decide(id, (common) => ({ ...common, type: "reconcile", outcome }));
  }

  async reissue(id: string, why: { readonly afterReconciling: string }): Promise<OperationRecord> {
    const reason = why?.afterReconciling;
    if (typeof reason !== "string" || reason === "")
      bad("`reissue` needs `afterReconciling`: what was found out, and how");
    return this.#operator.reissue(id, reason);
  }

  async adopt(id: string, owner: string): Promise<OperationRecord> {
    if (typeof owner !== "string" || owner === "" || owner === "*") bad("`adopt` takes one user's id");
    return this.#operator.decide(id, () => ({ type: "adopt", owner }));
  }

  async signOut(options: { readonly purge?: boolean | undefined } = {}): Promise<void> {
    // Who has signed out before may have been acted for since, by calls that name him.
    const owner = this.#owners.present() ?? this.#owners.asked();
    if (owner === undefined) {
      // Silence would leave the records of whoever was signed in before.
      if (options.purge)
        bad("nobody is signed in, so `signOut` cannot tell whose to purge: call it first, or `purge(owner)`");
      return;
    }
    // First of all, and whatever the store says.
    this.#signedOut(owner);
    this.#journal.tellSignOut(owner);
    if (options.purge) await this.purge(owner);
  }

  async purge(owner: string): Promise<number> {
    this.#recorder.purged(owner);
    this.#leases.abort(new DOMException("its owner's operations were purged", "AbortError"), owner);
    const store = await this.#journal.open();
    for (let removed = 0; ; ) {
      const records = await store.page({ owner });
      if (records.length === 0) return removed;
      // One that is adopted meanwhile is its new owner's.
      const drop = (standing: OperationRecord) => (standing.owner === owner ? undefined : standing);
      const left = await Promise.all(records.map(({ id }) => this.#journal.update(id, drop)));
      removed += left.filter((record) => !record).length;
    }
  }

  reseal(): Promise<ResealReport> {
    return this.#journal.reseal();
  }

  storage(): Promise<StorageStatus> {
    return this.#room.look();
  }

  async prune({ keepFor, rememberIntents, signal, onProgress }: PruneOptions = {}): Promise<number> {
    const { clock, ...mine } = this.#options;
    const times = {
      keepFor: duration(keepFor, "keepFor", mine.keepFor),
      rememberIntents: duration(rememberIntents, "rememberIntents", mine.rememberIntents),
    };
    const parts = { journal: this.#journal, platform: this.#platform, options: { clock, ...times } };
    return prune(parts, onProgress, signal);
  }

  on<E extends keyof SdkEvents>(event: E, listener: (detail: SdkEvents[E]) => void): () => void {
    if (!EVENTS.includes(event)) bad(`\`on\` knows no event ${JSON.stringify(event)}; there are ${EVENTS.join(", ")}`);
    return this.#emitter.on(event, listener);
  }

  async close(options: { readonly timeout?: Duration | undefined } = {}): Promise<void> {
    const timeout = toMs(options.timeout ?? "5s", "timeout");
    this.#closing ??= this.#close(timeout);
    return this.#closing;
  }

  async #close(timeout: number): Promise<void> {
    this.#discovery.close();
    const closed = this.#worker.close(timeout);
    this.#drain.stop();
    this.#operator.tellAll();
    await Promise.all([closed, this.#recorder.close()]);
    // What was being recorded as an attempt that begins is known not to be one.
    await this.#worker.rest();
    await this.#journal.close();
    this.#release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #observed(): ObservedSdk {
    const { operations, clock } = this.#options;
    return {
      name: this.name,
      operations: [...operations.keys()],
      clock,
      on: (event, listener) => this.on(event, listener),
      store: () => this.#journal.open(),
    };
  }

  #whose(filter: OwnerFilter | undefined): string | undefined {
    return filter?.owner ?? this.#owners.present();
  }

  #join(draft: Draft, acting: boolean, mine?: Live): Live {
    // Who acts is signed in; who only looks may be a page that is about to go.
    if (acting && !draft.onBehalf) this.#owners.signIn();
    return this.#recorder.join(draft, acting, mine);
  }

  async #lookUp(
    reference: string | IntentReference,
    filter: OwnerFilter | undefined,
    live: Live,
  ): Promise<OperationRecord> {
    const isId = typeof reference === "string";
    const record = isId ? await this.get(reference, filter) : await this.find(reference);
    if (!record) {
      const whose = JSON.stringify(this.#whose(isId ? filter : reference));
      const what = isId ? reference : `\`${reference.name}\`, intent ${JSON.stringify(reference.intent)}`;
      throw unknownOperation(`nothing is recorded for ${what}, owner ${whose}`);
    }
    if (live.holds > 0) this.#journal.register(live, record.id);
    live.adopt(record);
    return record;
  }

  #signedOut(owner: string): void {
    this.#owners.signOut(owner);
    this.#leases.abort(new DOMException("its owner signed out", "AbortError"), owner);
    this.#operator.tellAll();
  }
}

/** The latest one: mostly there is only one, which each attempt asks for. */
let latest: { readonly url: string; readonly origin: string } | undefined;

function originOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  if (latest?.url !== url) latest = { url, origin: new URL(url).origin };
  return latest.origin;
}
