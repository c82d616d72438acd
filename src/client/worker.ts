import pRetry, { AbortError } from "p-retry";
import { backoff } from "../core/backoff.js";
import { classify } from "../core/classify.js";
import { mintUuid } from "../core/key.js";
import { fraction } from "../core/random.js";
import { hasOutcome, isSettled, type OperationRecord } from "../core/record.js";
import { type OperationEvent, transition } from "../core/transition.js";
import { type AttemptResult, attempt } from "./attempt.js";
import type { Gate } from "./gate.js";
import type { Journal } from "./journal.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";
import type { Origins } from "./origins.js";
import type { Owners } from "./owners.js";
import type { Holder, Platform } from "./platform-port.js";
import { isOver } from "./result.js";

/** How long a claim lasts without renewal, in milliseconds. */
const LEASE = 30_000;
/** No sleep is longer, so that a clock that jumps or a machine that was asleep is noticed. */
const SLICE = 3_600_000;
const PATIENCE = 60_000;
const HOOK_RETRY = 1_000;
const HOOK_RETRY_CAP = 15 * 60_000;

/** What the worker is built from. */
export interface WorkerParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly owners: Owners;
  readonly origins: Origins;
  readonly gate: Gate;
  readonly holder: Holder;
  readonly fetch: typeof globalThis.fetch;
  readonly baseOrigin: () => string | undefined;
}

/** Tells p-retry to come round again; the judgement was made by `transition`. */
class Again extends Error {}

/** Claims records, makes their attempts, and writes down what came of them. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #running = new Map<string, Promise<void>>();
  /** Attempts and hooks under way, whose leases are renewed. */
  readonly #active = new Map<string, { fence: number; owner: string; controller: AbortController }>();
  readonly #sleepers = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<unknown>>();
  readonly #ended = new AbortController();
  #renewing = false;
  #stopWaking: (() => void) | undefined;
  /** Called when something has changed that may make other records due. */
  onProgress: () => void = () => {};

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  get closed(): boolean {
    return this.#ended.signal.aborted;
  }

  get idle(): boolean {
    return this.#active.size === 0;
  }

  /** Drives one operation until it has an outcome, needs a person, or the sdk closes. Joins a run under way. */
  run(id: string, begun?: OperationRecord): Promise<void> {
    const running = this.#running.get(id);
    if (running) {
      this.wake(id);
      return running;
    }
    this.#stopWaking ??= this.#parts.platform.onWake(() => this.wakeAll());
    const run = this.#run(id, begun).finally(() => {
      this.#running.delete(id);
      if (this.#running.size > 0) return;
      this.#stopWaking?.();
      this.#stopWaking = undefined;
    });
    this.#running.set(id, run);
    return run;
  }

  /** Ends a sleep early: something about this operation may have changed. */
  wake(id: string): void {
    this.#sleepers.get(id)?.abort();
  }

  wakeAll(): void {
    for (const sleeper of this.#sleepers.values()) sleeper.abort();
  }

  /** Whether this process drives the operation on behalf of a `send`. */
  isRunning(id: string): boolean {
    return this.#running.has(id);
  }

  /** A claim and the beginning of its attempt, in one write. */
  begin(record: OperationRecord): OperationRecord {
    const { options, holder, origins } = this.#parts;
    const at = options.clock.now();
    const serverAt = origins.serverTime(record.origin, at);
    const claimed = transition(record, {
      type: "claim",
      at,
      holder: holder.id,
      length: LEASE,
      serverAt,
      hook: this.#hasHook(record),
    });
    if (claimed.state !== "pending" || claimed.fence === record.fence) return claimed;
    return transition(claimed, { type: "begin", at, serverAt, mint: this.#mint(at) });
  }

  /** Works on a record that was claimed here: its attempt, or its `settled` hook. A marked one holds a slot. */
  work(record: OperationRecord): Promise<OperationRecord> {
    const controller = new AbortController();
    this.#active.set(record.id, { fence: record.fence, owner: record.owner, controller });
    void this.#renew();
    const task = this.#work(record, controller).finally(() => {
      if (this.#active.get(record.id)?.fence === record.fence) this.#active.delete(record.id);
      this.#tasks.delete(task);
      this.onProgress();
    });
    this.#tasks.add(task);
    return task;
  }

  /** Ends the attempts of one owner; what they may have done counts as uncertain. */
  abort(owner: string, reason: unknown): void {
    for (const active of this.#active.values()) if (active.owner === owner) active.controller.abort(reason);
  }

  /** No new attempts; those under way get `timeout` milliseconds. */
  async close(timeout: number): Promise<void> {
    this.#ended.abort();
    this.wakeAll();
    this.#parts.gate.flush();
    const grace = new AbortController();
    const ended = Promise.allSettled([...this.#tasks]);
    await Promise.race([ended, this.#parts.options.clock.sleep(timeout, grace.signal).catch(() => {})]);
    grace.abort();
    const reason = new DOMException("the sdk was closed", "AbortError");
    for (const { controller } of this.#active.values()) controller.abort(reason);
    await Promise.allSettled([...this.#tasks, ...this.#running.values()]);
  }

  async #run(id: string, begun: OperationRecord | undefined): Promise<void> {
    let first = begun;
    const round = async (): Promise<void> => {
      try {
        const record = first ? await this.work(first) : await this.#take(id);
        first = undefined;
        if (record === undefined || isOver(record) || this.closed || !this.#mayGoOn(record)) return;
        await this.#sleepUntil(record);
      } catch (error) {
        throw new AbortError(error instanceof Error ? error : new Error(String(error)));
      }
      throw new Again();
    };
    await pRetry(round, { retries: Number.POSITIVE_INFINITY, minTimeout: 0, maxTimeout: 0, factor: 1 });
  }

  /** Whether this process may send it at all: once its owner is gone, only waiting for the owner is left. */
  #mayGoOn(record: OperationRecord): boolean {
    return this.#parts.owners.mayAct(record.owner);
  }

  /** One round for one record: claims it if it is free and due, makes the attempt, answers with where it stands. */
  async #take(id: string): Promise<OperationRecord | undefined> {
    const { options, platform, journal, gate } = this.#parts;
    const standing = await journal.refresh(id);
    if (!standing || isOver(standing) || platform.isOffline() || !this.#mayGoOn(standing)) return standing;
    if (standing.parked) return this.#behind(standing);
    const now = options.clock.now();
    if (standing.lease && isHeld(standing, now)) return standing;
    if (standing.nextAttemptAt > now && standing.nextAttemptAt - standing.delay <= now) return standing;
    await gate.enter(standing.origin);
    let claimed: OperationRecord | undefined;
    try {
      if (!this.closed) {
        const query = { now: options.clock.now(), limit: 1, ids: [id] };
        [claimed] = (await journal.claim(query, (record) => this.begin(record))).records;
      }
    } finally {
      if (!claimed?.mark) gate.leave(standing.origin, "unknown");
    }
    return claimed?.lease ? this.work(claimed) : (claimed ?? standing);
  }

  /** Whoever stands behind a head that needs a person is told so. */
  async #behind(record: OperationRecord): Promise<OperationRecord> {
    const { journal } = this.#parts;
    const store = await journal.open();
    const head = record.lane === undefined ? undefined : await store.head(record.owner, record.lane);
    const stuck = head && head.id !== record.id && isOver(head) ? head : undefined;
    for (const live of journal.livesOf(record.id)) {
      live.stuck = stuck;
      live.changed();
    }
    return record;
  }

  async #sleepUntil(record: OperationRecord): Promise<void> {
    const { options, platform } = this.#parts;
    const now = options.clock.now();
    const others = record.parked || record.lease !== undefined;
    const due = record.lease ? record.lease.until : record.nextAttemptAt;
    const wait = platform.isOffline() || record.parked ? platform.pollEvery : Math.max(due - now, 0);
    const longest = others ? platform.pollEvery : SLICE;
    // A clock that has jumped back must not lengthen a wait.
    const clamped = record.lease ? wait : Math.min(wait, record.parked ? wait : Math.max(record.delay, 0));
    await this.sleep(Math.min(platform.isOffline() ? platform.pollEvery : clamped, longest), record.id);
  }

  /** Sleeps until the time is over, or until someone wakes this id, or the sdk closes. */
  async sleep(ms: number, id: string, background = false): Promise<void> {
    if (this.closed || ms <= 0) return;
    const sleeper = new AbortController();
    this.#sleepers.set(id, sleeper);
    try {
      await this.#parts.options.clock.sleep(ms, sleeper.signal, background);
    } catch {
      // Woken.
    } finally {
      if (this.#sleepers.get(id) === sleeper) this.#sleepers.delete(id);
    }
  }

  async #work(record: OperationRecord, controller: AbortController): Promise<OperationRecord> {
    const after = record.mark ? await this.#attempt(record, controller) : record;
    if (after.fence === record.fence && after.lease && hasOutcome(after) && !after.delivered)
      return this.#deliver(after);
    return after;
  }

  async #attempt(record: OperationRecord, controller: AbortController): Promise<OperationRecord> {
    const { options, platform, journal, owners, origins, gate } = this.#parts;
    const operation = this.operationOf(record);
    const lives = journal.livesOf(record.id);
    const startedAt = options.clock.now();
    let result: AttemptResult = { signal: { kind: "thrown" } };
    try {
      result = await attempt(record, {
        operation,
        fetch: this.#parts.fetch,
        clock: options.clock,
        seesRedirects: platform.seesRedirects,
        baseOrigin: this.#parts.baseOrigin(),
        transient: [...lives].find((live) => live.draft?.transient)?.draft?.transient,
        mayBeSent: ({ owner }) => owners.mayAct(owner) && !controller.signal.aborted,
        controller,
      });
    } catch (error) {
      result = { signal: { kind: "thrown" }, error };
    }
    const at = options.clock.now();
    if (result.serverDate !== undefined) origins.learnClock(record.origin, result.serverDate, at);
    const event = this.#eventOf(record, operation, result, startedAt, at);
    // Started before the slot is given back, so that the next claim can share the write's transaction.
    const writing = journal.change(record.id, event, record);
    gate.leave(record.origin, this.#healthOf(result));
    this.onProgress();
    const after = (await writing) ?? record;
    if (result.fault) {
      for (const live of lives) {
        live.fault = result.fault;
        live.changed();
      }
    }
    if (result.error !== undefined) {
      options.log({
        level: "debug",
        message: "an attempt failed",
        id: record.id,
        name: record.name,
        cause: result.error,
      });
    }
    if (record.lane !== undefined) await this.#advance(after);
    return after;
  }

  /** Wakes those of the same lane that wait in this process. */
  async #advance(record: OperationRecord): Promise<void> {
    if (record.lane === undefined || !isOver(record)) return;
    const { journal } = this.#parts;
    if (isSettled(record)) {
      const store = await journal.open();
      const head = await store.head(record.owner, record.lane);
      if (head) this.wake(head.id);
      return;
    }
    for (const live of journal.lives()) {
      if (live.record?.parked && live.record.lane === record.lane && live.id) this.wake(live.id);
    }
  }

  /** A change made by a person may free a lane. */
  async released(record: OperationRecord): Promise<void> {
    await this.#advance(record);
    this.wake(record.id);
    this.onProgress();
  }

  #eventOf(
    record: OperationRecord,
    operation: ResolvedOperation,
    result: AttemptResult,
    startedAt: number,
    at: number,
  ): OperationEvent {
    const { options, journal } = this.#parts;
    const verdict = classify(result.signal, operation.rules, at);
    const { base, cap, backgroundCap, attempts } = operation.retry;
    const waiting = [...journal.livesOf(record.id)].some((live) => live.waiting > 0);
    const asked = verdict.kind === "retry" ? (verdict.after ?? 0) : 0;
    const own = backoff(record.attempts, base, waiting ? cap : backgroundCap, fraction(options.random));
    const ended = {
      at,
      fence: record.fence,
      entry: {
        at: startedAt,
        ms: at - startedAt,
        verdict: result.foreign ? "not_sent" : result.signal.kind === "unsent" ? "unsent" : verdict.kind,
        status: result.status,
        cause: describe(result.error),
      },
      delay: result.foreign ? 0 : Math.max(asked, own),
      hook: this.#hasHook(record),
    };
    if (result.signal.kind === "unsent") return { type: "unsent", block: result.block, ...ended };
    return {
      type: "answer",
      verdict,
      response: result.response,
      timedOut: result.timedOut,
      maxAttempts: attempts,
      patience: PATIENCE,
      mint: this.#mint(at),
      ...ended,
    };
  }

  #healthOf({ signal, block, foreign, fault }: AttemptResult): "answered" | "failed" | "unknown" {
    if (signal.kind === "answer") return signal.status >= 500 ? "failed" : "answered";
    return block || foreign || fault ? "unknown" : "failed";
  }

  async #deliver(record: OperationRecord): Promise<OperationRecord> {
    const { options, journal } = this.#parts;
    const at = options.clock.now();
    const hook = this.operationOf(record).options.settled;
    const known = options.operations.has(record.name);
    try {
      // Left for a deploy that declares the operation: its hook may be owed this record.
      if (!known) throw new Error(`samekey: operation "${record.name}" is not declared here`);
      await hook?.(record);
      return (await journal.change(record.id, { type: "deliver", at: options.clock.now() })) ?? record;
    } catch (cause) {
      if (known)
        options.log({ level: "error", message: "a settled hook failed", id: record.id, name: record.name, cause });
      const delay = known ? Math.min(HOOK_RETRY_CAP, Math.max(HOOK_RETRY, record.delay * 2)) : HOOK_RETRY_CAP;
      return (await journal.change(record.id, { type: "postpone", at, fence: record.fence, delay })) ?? record;
    }
  }

  /** One loop renews the leases of all that is under way. */
  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    const { options, journal } = this.#parts;
    while (this.#active.size > 0) {
      await this.sleep(LEASE / 3, "renew", true);
      if (this.#active.size === 0) break;
      const at = options.clock.now();
      const extensions = [...this.#active].map(([id, { fence }]) =>
        journal.update(id, (record) => transition(record, { type: "extend", at, fence, length: LEASE })),
      );
      // A lease that cannot be renewed runs out; the promise does not rest on it.
      await Promise.allSettled(extensions);
      if (this.closed) await options.clock.sleep(LEASE / 3, undefined, true);
    }
    this.#renewing = false;
  }

  operationOf(record: OperationRecord): ResolvedOperation {
    const { operations, undeclared } = this.#parts.options;
    return operations.get(record.name) ?? undeclared(record.name);
  }

  /** An operation that is not declared here may have a hook where it is. */
  hasHook(name: string): boolean {
    const { operations } = this.#parts.options;
    const operation = operations.get(name);
    return operation === undefined || operation.options.settled !== undefined;
  }

  #hasHook(record: OperationRecord): boolean {
    return this.hasHook(record.name);
  }

  #mint(now: number): (version: "v7" | "v4") => string {
    return (version) => mintUuid(version, now, this.#parts.options.random);
  }
}

function isHeld(record: OperationRecord, now: number): boolean {
  const { lease } = record;
  return lease !== undefined && lease.until > now && lease.until - lease.length <= now;
}

function describe(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (!(error instanceof Error)) return typeof error;
  const { code } = ((error.cause as { code?: unknown } | undefined) ?? error) as { code?: unknown };
  // Names and codes only: messages may hold what must not be at rest.
  return typeof code === "string" ? `${error.name} ${code}` : error.name;
}
