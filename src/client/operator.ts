import { comparableBytes, differingFields, sameRequest } from "../core/compare.js";
import { holdsIntent, type OperationRecord, type StoredRequest } from "../core/record.js";
import { transition } from "../core/transition.js";
import { CanceledError, MisuseError, PendingError, type SamekeyError, StoreError } from "../errors.js";
import { createRecord, type Draft } from "./draft.js";
import type { Gate } from "./gate.js";
import type { Journal } from "./journal.js";
import { createSnapshot, type Live, type Snapshot } from "./live.js";
import { type ResolvedOptions, waitOption } from "./options.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";
import { isOver, type Outcome, readError, readOutcome, readResult } from "./result.js";
import type { SendOptions, SendResult } from "./types.js";
import type { Worker } from "./worker.js";

/** What the operator is built from. */
export interface OperatorParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly owners: Owners;
  readonly gate: Gate;
  readonly worker: Worker;
}

/** How often a record of unknown fate is looked for, in milliseconds. */
const CLEAN_UP_EVERY = 1_000;
const CLEAN_UP_TRIES = 60;

/** What handles do: join, record, send, wait. */
export class Operator {
  readonly #parts: OperatorParts;
  /** Live operations that hold their intent, by owner, name and intent: five clicks in one task are one operation. */
  readonly #byIntent = new Map<string, Live>();
  readonly #snapshots = new WeakMap<Live, Snapshot>();
  readonly #outcomes = new WeakMap<Live, { rev: number; outcome?: Outcome }>();
  readonly #purges = new Map<string, number>();

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /**
   * The live operation that holds the draft's intent, if there is one.
   *
   * @throws MisuseError `intent_mismatch` when it is another request and the draft is to be recorded now
   */
  shared(draft: Draft, acting: boolean): Live | undefined {
    const key = intentKey(draft);
    const live = key === undefined ? undefined : this.#byIntent.get(key);
    if (!live || (live.record && !holdsIntent(live.record))) return undefined;
    const request = live.record?.request ?? live.draft?.request;
    const same = request === undefined || request.body === undefined || sameRequest(request, draft.request);
    if (same || draft.operation.options.onIntentMismatch === "keep-first") return live;
    if (!acting) return undefined;
    throw mismatch(live.record, request, draft);
  }

  /** Makes later calls with the same intent join this one. */
  enlist(live: Live): void {
    const key = live.draft && intentKey(live.draft);
    if (key !== undefined) this.#byIntent.set(key, live);
  }

  save(live: Live): Promise<OperationRecord> {
    live.saved ??= this.#persist(live).catch((error: unknown) => {
      live.saved = undefined;
      this.#forget(live);
      throw error;
    });
    return live.saved;
  }

  async send(live: Live, options: SendOptions): Promise<SendResult> {
    const record = await this.drive(live, options);
    const schemas = this.#parts.worker.operationOf(record).options;
    if (record.state === "succeeded") {
      return readResult(record, schemas.result, live.fromStore ? "store" : undefined);
    }
    throw await readError(record, schemas.error);
  }

  async outcome(live: Live, options: SendOptions): Promise<Outcome> {
    try {
      const record = await this.drive(live, options);
      return await readOutcome(
        record,
        this.#parts.worker.operationOf(record).options,
        live.fromStore ? "store" : undefined,
      );
    } catch (error) {
      const { record } = live;
      if (!record) return { state: "unsaved", error: error as SamekeyError };
      const pending = error instanceof PendingError || error instanceof MisuseError;
      const state = record.state === "blocked" ? "blocked" : "pending";
      return { state, error: pending ? error : new PendingError("pending", { record, cause: error }) };
    }
  }

  async cancelLive(live: Live): Promise<OperationRecord | undefined> {
    if (!live.saved) {
      live.fault = new CanceledError("canceled", { id: live.id });
      live.changed();
      return undefined;
    }
    const record = await live.saved;
    return this.cancel(record.id);
  }

  async cancel(id: string): Promise<OperationRecord> {
    const { journal, options, worker } = this.#parts;
    const record = await journal.update(id, (standing) =>
      transition(standing, { type: "cancel", at: options.clock.now(), hook: worker.hasHook(standing.name) }),
    );
    if (!record) throw unknown(id);
    await worker.released(record);
    return record;
  }

  /** Calls back when the live operation changes; keeps it up to date meanwhile. */
  watch(live: Live, listener: () => void): () => void {
    const { journal } = this.#parts;
    const { id } = live;
    if (id !== undefined) journal.register(live, id);
    return live.watch(listener);
  }

  snapshot(live: Live): Snapshot {
    this.#readOutcomeOf(live);
    const outcome = this.#outcomes.get(live)?.outcome;
    const next = createSnapshot(live, this.#parts.platform.isOffline(), outcome);
    const last = this.#snapshots.get(live);
    if (last && isSame(last, next)) return last;
    this.#snapshots.set(live, next);
    return next;
  }

  /** Everyone who waits for this owner's operations looks again. */
  tell(owner: string): void {
    for (const live of this.#parts.journal.lives()) if (live.record?.owner === owner) live.changed();
  }

  tellAll(): void {
    for (const live of this.#parts.journal.lives()) live.changed();
  }

  /** Records of this owner that are being inserted now are not to stay. */
  purged(owner: string): void {
    this.#purges.set(owner, (this.#purges.get(owner) ?? 0) + 1);
  }

  async #persist(live: Live): Promise<OperationRecord> {
    const { draft } = live;
    if (!draft) throw new Error("samekey: only a draft can be recorded");
    if (live.fault !== undefined) throw live.fault;
    if (this.#parts.worker.closed) throw new StoreError("unavailable", { detail: "the sdk is closed" });
    // A `send` in the same task may still ask for its attempt to begin with this write.
    await undefined;
    const { options, journal, gate, worker, platform, owners } = this.#parts;
    const purges = this.#purges.get(draft.owner);
    const fresh = { ...createRecord(draft, options.clock.now(), options.random), seq: 0, rev: 0 };
    journal.register(live, fresh.id);
    const atOnce = live.wanted && draft.lane === undefined && !platform.isOffline() && owners.mayAct(draft.owner);
    const entered = atOnce && !worker.closed && gate.tryEnter(draft.origin);
    const record = entered ? worker.begin(fresh) : fresh;
    let begun = false;
    try {
      const inserted = await journal.insert(record);
      if (inserted.joined) return await this.#meet(live, fresh.id, inserted.record, inserted.joined);
      if (this.#purges.get(draft.owner) !== purges) {
        await journal.update(record.id, () => undefined);
        throw new CanceledError("canceled", { id: record.id, detail: "its owner's operations were purged" });
      }
      live.record ??= inserted.record;
      begun = entered && record.mark !== undefined;
      if (begun) worker.run(record.id, inserted.record).catch(() => {});
      return inserted.record;
    } catch (error) {
      if (error instanceof StoreError && isFateUnknown(error)) void this.#cleanUp(record);
      throw error;
    } finally {
      if (entered && !begun) gate.leave(draft.origin, "unknown");
    }
  }

  /** The intent, key or id was taken: the earlier operation is this one, or the call is wrong. */
  async #meet(live: Live, own: string, record: OperationRecord, by: "id" | "intent" | "key"): Promise<OperationRecord> {
    const { journal, platform } = this.#parts;
    const draft = live.draft as Draft;
    journal.unregister(live, own);
    const keepFirst = by === "intent" && draft.operation.options.onIntentMismatch === "keep-first";
    if (!keepFirst && !(await isSameRequest())) {
      if (by === "intent") throw mismatch(record, record.request, draft);
      const fields = record.request.body ? differingFields(record.request, draft.request) : ["body"];
      const detail = `the ${by} ${by === "id" ? draft.id : draft.key} belongs to another request already`;
      throw new MisuseError(by === "key" ? "key_reused" : "bad_option", { record, fields, detail });
    }
    live.adopt(record);
    journal.register(live, record.id);
    return record;

    async function isSameRequest(): Promise<boolean> {
      if (record.hash === undefined) return sameRequest(record.request, draft.request);
      return record.hash === (await platform.digest(comparableBytes(draft.request)));
    }
  }

  /** Records, drives and waits until the operation is over or the waiting is. */
  async drive(live: Live, options: SendOptions): Promise<OperationRecord> {
    const { clock } = this.#parts.options;
    options.signal?.throwIfAborted();
    const operation = live.draft?.operation;
    const wait = options.wait === undefined ? operation?.wait : waitOption(options.wait, "wait");
    live.wanted = true;
    live.waiting++;
    const ended = new AbortController();
    const limits: Promise<never>[] = [];
    if (options.signal) limits.push(whenAborted(options.signal, ended.signal));
    if (wait !== undefined) {
      const over = clock.sleep(wait, ended.signal).then(() => {
        throw new PendingError("pending", { id: live.id, record: live.record, detail: `no outcome within ${wait} ms` });
      });
      limits.push(over);
    }
    const done = this.#settle(live, ended.signal);
    try {
      return await Promise.race([done, ...limits]);
    } finally {
      live.waiting--;
      ended.abort();
      for (const promise of [done, ...limits]) promise.catch(() => {});
    }
  }

  async #settle(live: Live, ended: AbortSignal): Promise<OperationRecord> {
    const { worker, owners, journal } = this.#parts;
    // A caller who names the owner answers for him, until this operation is driven to its end.
    const release = live.draft?.onBehalf ? owners.grant(live.draft.owner) : () => {};
    let running = false;
    try {
      let record = await this.save(live);
      if (record.state === "blocked" && this.#canUnblock(record, live)) record = await this.#unblock(record);
      journal.register(live, record.id);
      let failure: unknown;
      if (!isOver(live.record ?? record)) {
        running = true;
        live.unstick();
        const run = worker.run(record.id).catch((error: unknown) => {
          failure = error;
        });
        void run.then(() => {
          running = false;
          release();
          live.changed();
        });
      }
      while (!ended.aborted) {
        const now = live.record ?? record;
        if (isOver(now)) break;
        if (live.fault !== undefined) throw this.#takeFault(live);
        const { stuck } = live;
        if (stuck) throw new PendingError("lane", { record: stuck, detail: `the head is ${stuck.id}` });
        if (worker.closed) throw new PendingError("closed", { record: now });
        if (!owners.mayAct(now.owner)) {
          throw new PendingError("blocked", { record: now, detail: "its owner is not signed in" });
        }
        if (!running) throw new PendingError("pending", { record: now, cause: failure });
        await changed(live, ended);
      }
      this.#forget(live);
      return live.record ?? record;
    } finally {
      if (!running) release();
    }
  }

  #takeFault(live: Live): unknown {
    const { fault } = live;
    live.fault = undefined;
    return fault;
  }

  /** Whoever sends again has signed in, or brings the headers that were missing. */
  #canUnblock(record: OperationRecord, live: Live): boolean {
    if (record.blockedBy === "credentials") return true;
    const { dropped } = record.request;
    return record.blockedBy === "headers" && dropped.every((name) => live.draft?.transient?.has(name));
  }

  async #unblock(record: OperationRecord): Promise<OperationRecord> {
    const { journal, options, worker } = this.#parts;
    const event = { type: "retry" as const, at: options.clock.now(), hook: worker.hasHook(record.name) };
    return (await journal.change(record.id, event)) ?? record;
  }

  /** The next call with the intent asks the store. */
  #forget(live: Live): void {
    const key = live.draft && intentKey(live.draft);
    if (key !== undefined && this.#byIntent.get(key) === live) this.#byIntent.delete(key);
  }

  /** A record whose commit is in doubt was not sent: it is canceled as soon as the store answers. */
  async #cleanUp(record: OperationRecord): Promise<void> {
    const { journal, options, worker } = this.#parts;
    for (let tries = 0; tries < CLEAN_UP_TRIES && !worker.closed; tries++) {
      try {
        await journal.update(record.id, (standing) => {
          const at = options.clock.now();
          const ours = standing.fence === record.fence && standing.state === "pending" && standing.rev <= 1;
          if (!ours) return standing;
          const entry = { at, ms: 0, verdict: "not_sent" };
          const unsent = transition(standing, {
            type: "unsent",
            at,
            fence: record.fence,
            entry,
            delay: 0,
            hook: false,
          });
          return transition(unsent, { type: "cancel", at, hook: false });
        });
        return;
      } catch {
        await options.clock.sleep(CLEAN_UP_EVERY, undefined, true);
      }
    }
  }

  #readOutcomeOf(live: Live): void {
    const { record } = live;
    if (!record || !isOver(record) || this.#outcomes.get(live)?.rev === record.rev) return;
    this.#outcomes.set(live, { rev: record.rev });
    const schemas = this.#parts.worker.operationOf(record).options;
    void readOutcome(record, schemas, live.fromStore ? "store" : undefined).then((outcome) => {
      if (this.#outcomes.get(live)?.rev !== record.rev) return;
      this.#outcomes.set(live, { rev: record.rev, outcome: Object.freeze(outcome) });
      live.changed();
    });
  }
}

function intentKey(draft: Draft): string | undefined {
  return draft.intent === undefined ? undefined : JSON.stringify([draft.owner, draft.operation.name, draft.intent]);
}

function mismatch(record: OperationRecord | undefined, request: StoredRequest | undefined, draft: Draft): MisuseError {
  const fields =
    request?.body || draft.request.body ? differingFields(request ?? draft.request, draft.request) : ["url"];
  const detail = `intent ${JSON.stringify(draft.intent)} of \`${draft.operation.name}\` differs in ${fields.join(", ")}`;
  return new MisuseError("intent_mismatch", { record, fields, detail });
}

/** @internal */
export function unknown(what: string): MisuseError {
  return new MisuseError("unknown_operation", { detail: what });
}

function isFateUnknown(error: StoreError): boolean {
  return error.code === "stalled" || error.code === "not_durable";
}

function isSame(a: Snapshot, b: Snapshot): boolean {
  const names = ["id", "state", "attempts", "nextAttemptAt", "offline", "mayHaveBeenApplied", "outcome"] as const;
  return names.every((name) => a[name] === b[name]);
}

function changed(live: Live, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = live.watch(done);
    ended.addEventListener("abort", done, { once: true });
    function done(): void {
      stop();
      ended.removeEventListener("abort", done);
      resolve();
    }
  });
}

function whenAborted(signal: AbortSignal, ended: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    ended.addEventListener("abort", () => signal.removeEventListener("abort", abort), { once: true });
  });
}
