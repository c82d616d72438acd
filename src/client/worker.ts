import pRetry from "p-retry";
import { faultPoint } from "../core/fault-point.js";
import { mintUuid } from "../core/key.js";
import { hasOutcome, isDue, isSettled, type OperationRecord } from "../core/record.js";
import { type Mint, transition } from "../core/transition.js";
import { PendingError } from "../errors.js";
import { Deadlines } from "./deadlines.js";
import { deliver } from "./delivery.js";
import type { Diagnosis } from "./diagnosis.js";
import type { Discovery } from "./discovery.js";
import { type ExchangeParts, exchange } from "./exchange.js";
import type { Gate } from "./gate.js";
import { lacksProfile, noteLacking } from "./lacked-profiles.js";
import { Notices } from "./notices.js";
import type { Observers } from "./observers.js";
import type { ResolvedOperation } from "./options.js";
import { OUTAGE } from "./origins.js";
import type { Holder } from "./platform-port.js";
import { isOver } from "./result.js";
import { Sleepers } from "./sleepers.js";
import { nameOf } from "./verdict.js";

/** No sleep is longer, so that a clock that jumps or a machine that was asleep is noticed. */
const SLICE = 3_600_000;
/** So many failures of the store in a row are told to whoever waits. */
const PATIENCE = 5;
const PAUSE = 200;
/** How often to look whether others in this process are done with it. */
const RECHECK = 1_000;

/** What the worker is built from. */
export interface WorkerParts extends ExchangeParts {
  readonly observers: Observers;
  readonly diagnosis: Diagnosis;
  readonly discovery: Discovery;
  readonly gate: Gate;
  readonly holder: Holder;
}

/** Tells p-retry to come round again; the judgement was made by `transition`. */
class Again extends Error {}

/**
 * Claims records, makes their attempts, and writes down what came of them.
 *
 * All its timers are background ones: it is the waiting `send` or `resume` that keeps a process alive.
 */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #sleepers: Sleepers;
  readonly #attempts = new Set<Promise<unknown>>();
  /** The ids of the attempts. */
  readonly #underWay = new Set<string>();
  readonly #deadlines: Deadlines;
  readonly #notices: Notices;
  /** Readers that this program lacks, as far as it has met them: claims leave out what only they can read. */
  readonly lacking: Set<string> = new Set();
  #closed = false;
  /** Whether nobody may work on this one yet: it is not known whether it was recorded, and its caller was told so. */
  isWithheld: (id: string) => boolean = () => false;
  /** Called when something has changed that may make other records due. */
  onProgress: () => void = () => {};

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#sleepers = new Sleepers(parts.options.clock, parts.platform);
    this.#deadlines = new Deadlines(parts.options.clock);
    this.#notices = new Notices(parts.options);
    parts.leases.onRelief = () => {
      this.#sleepers.wakeAll();
      this.onProgress();
    };
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** How many attempts and hooks are under way. */
  get busy(): number {
    return this.#parts.leases.size;
  }

  /**
   * Drives one operation until it has an outcome, needs a person, its owner is gone, or the sdk closes. Joins a run
   * under way.
   */
  run(id: string, begun?: OperationRecord): Promise<void> {
    const running = this.#running.get(id);
    if (running) {
      this.wake(id);
      return running;
    }
    const run = this.#run(id, begun).finally(() => {
      this.#running.delete(id);
      this.#sleepers.clear(id);
    });
    this.#running.set(id, run);
    return run;
  }

  /** Ends a sleep early: something about this operation may have changed. */
  wake(id: string): void {
    if (this.#running.has(id)) this.#sleepers.wake(id);
  }

  /** A claim and the beginning of its attempt, in one write. */
  begin(record: OperationRecord): OperationRecord {
    const { options, discovery, leases } = this.#parts;
    const at = options.clock.now();
    // The claim may have waited for its turn, and another have been quicker: it holds it, or has put it off since.
    const isPutOff = record.state === "pending" && !record.lease && !isDue(record, at);
    if (this.closed || this.#isTaken(record) || leases.isHeld(record) || isPutOff) return record;
    const serverAt = this.serverTime(record);
    const hook = this.operationOf(record).hooked;
    const claim = { type: "claim", at, serverAt, hook, ...leases.terms() } as const;
    const claimed = transition(discovery.shorten(record), claim);
    if (claimed.state !== "pending" || claimed.fence === record.fence) return claimed;
    return transition(claimed, { type: "begin", at, serverAt, mint: this.#mint });
  }

  /** An attempt is under way here, whatever its lease says (a clock that jumps forward ends them all), or none may be. */
  #isTaken(record: OperationRecord): boolean {
    return this.lacksProfile(record) || this.isUnderWay(record.id) || this.isWithheld(record.id);
  }

  /** Whether it is left to programs that have the profile which reads its answers. */
  lacksProfile(record: OperationRecord): boolean {
    const isLacking = lacksProfile(record, this.operationOf(record));
    if (isLacking) noteLacking(this.lacking, record, this.#parts.options.log);
    return isLacking;
  }

  /** Its attempt is being made here, or made ready. */
  isUnderWay(id: string): boolean {
    return this.#underWay.has(id);
  }

  /** Works on a record that was claimed here: its attempt, which holds a slot, then its hooks. */
  async work(record: OperationRecord): Promise<OperationRecord> {
    const { leases, discovery } = this.#parts;
    void discovery.refresh();
    const controller = leases.hold(record);
    if (this.closed) controller.abort(closing());
    try {
      const after = record.mark ? await this.track(this.#attempt(record, controller)) : record;
      const owed =
        after.seq === record.seq &&
        after.fence === record.fence &&
        after.lease &&
        hasOutcome(after) &&
        !after.delivered;
      return owed ? await deliver(after, this.operationOf(after), this.#parts) : after;
    } finally {
      leases.release(record);
      this.wake(record.id);
      this.onProgress();
    }
  }

  /** No new attempts; those under way get `timeout` milliseconds. */
  async close(timeout: number): Promise<void> {
    const { leases, gate, options } = this.#parts;
    this.#closed = true;
    this.#sleepers.wakeAll();
    gate.close();
    const grace = new AbortController();
    const ended = Promise.allSettled([...this.#attempts]);
    await Promise.race([ended, options.clock.sleep(timeout, grace.signal).catch(() => {})]);
    grace.abort();
    leases.abort(closing());
    await this.rest();
  }

  /** All attempts have ended. Not the hooks: they may take for ever, and are called again. */
  async rest(): Promise<void> {
    // A claim that comes to something begins an attempt, if only to take it back.
    while (this.#attempts.size > 0) await Promise.allSettled([...this.#attempts]);
  }

  /** Something that has to end before the store is closed. */
  track<T>(promise: Promise<T>): Promise<T> {
    this.#attempts.add(promise);
    const forget = (): void => void this.#attempts.delete(promise);
    promise.then(forget, forget);
    return promise;
  }

  async #run(id: string, begun: OperationRecord | undefined): Promise<void> {
    let first = begun;
    let failures = 0;
    /** Whether there is to be another. */
    const round = async (): Promise<boolean> => {
      try {
        const claimed = first;
        first = undefined;
        const record = claimed ? await this.work(claimed) : await this.#take(id);
        failures = 0;
        if (!record || this.closed || this.#isDone(record) || !this.#parts.owners.mayAct(record.owner)) {
          return false;
        }
        await this.#sleepUntil(record);
      } catch (error) {
        if (this.closed) return false;
        await this.#afterFailure(id, ++failures, error);
      }
      return true;
    };
    // Mostly the first one is enough.
    if (!(await round())) return;
    const again = async (): Promise<void> => {
      if (await round()) throw new Again();
    };
    await pRetry(again, { retries: Number.POSITIVE_INFINITY, minTimeout: 0, maxTimeout: 0, factor: 1 });
  }

  /** The store fails. The operation is not given up; who waits for it is told when that lasts. */
  async #afterFailure(id: string, failures: number, cause: unknown): Promise<void> {
    const { options, journal } = this.#parts;
    options.log({ level: "error", message: "the store failed; the operation goes on", id, cause });
    for (const live of failures < PATIENCE ? [] : journal.livesOf(id)) {
      live.tell(new PendingError("pending", { id, record: live.record, cause }));
    }
    await this.#sleep(Math.min(PAUSE * 2 ** failures, 30_000), id);
  }

  /** Nothing is left to do for it here, its hooks included. */
  #isDone(record: OperationRecord): boolean {
    if (isOver(record)) return !hasOutcome(record) || record.delivered || !this.operationOf(record).declared;
    return this.lacksProfile(record) && this.#parts.journal.livesOf(record.id).every(({ waiting }) => waiting === 0);
  }

  /** One round for one record: claims it if it is free and due, works on it, answers with where it stands. */
  async #take(id: string): Promise<OperationRecord | undefined> {
    const { options, platform, journal, leases, gate, holder, owners } = this.#parts;
    const { clock } = options;
    this.#sleepers.clear(id);
    const standing = await journal.refresh(id);
    const mayStart = (): boolean => !this.closed && !platform.isOffline() && owners.mayAct(standing?.owner ?? "");
    if (!standing || this.#isDone(standing) || !mayStart()) return standing;
    if (standing.parked) return this.#behind(standing);
    if (this.lacksProfile(standing)) return standing;
    if (leases.isHeld(standing)) {
      const isOurs = standing.lease?.holder === holder.id;
      if (isOurs || (await leases.relieve()) === 0) return standing;
    }
    if (this.#isTaken(standing)) {
      await this.#sleep(RECHECK, id);
      return standing;
    }
    // Hooks need no slot.
    const isAttempt = !hasOutcome(standing);
    if (!isDue(standing, clock.now()) || (isAttempt && !(await gate.enter(standing.origin)))) return standing;
    let claimed: OperationRecord | undefined;
    try {
      // Much may have happened while it waited for its slot.
      const now = clock.now();
      const isReady = (record: OperationRecord): boolean => isDue(record, now) && hasOutcome(record) !== isAttempt;
      const apply = (record: OperationRecord): OperationRecord => (isReady(record) ? this.begin(record) : record);
      if (mayStart()) [claimed] = (await this.track(journal.claim({ now, limit: 1, ids: [id] }, apply))).records;
    } finally {
      if (isAttempt && !claimed?.mark) gate.leave(standing.origin, "unknown");
    }
    if (claimed?.lease) return this.work(claimed);
    if (claimed) await this.released(claimed);
    return claimed ?? standing;
  }

  /** Whoever waits behind a head that needs a person is told so. */
  async #behind(record: OperationRecord): Promise<OperationRecord> {
    const { journal } = this.#parts;
    const store = await journal.open();
    const head = record.lane === undefined ? undefined : await store.head(record.owner, record.lane);
    if (head && head.id !== record.id && isOver(head)) {
      const notice = new PendingError("lane", { record: head, detail: `the head is ${head.id}` });
      for (const live of journal.livesOf(record.id)) live.tell(notice);
    }
    return record;
  }

  async #sleepUntil(record: OperationRecord): Promise<void> {
    const { options, platform } = this.#parts;
    const { lease, parked, nextAttemptAt } = record;
    const now = options.clock.now();
    if (parked || platform.isOffline() || this.lacksProfile(record)) return this.#sleep(platform.pollEvery, record.id);
    if (lease) return this.#sleep(Math.min(lease.until - now, platform.pollEvery), record.id);
    return this.#sleep(Math.min(nextAttemptAt - now, SLICE), record.id);
  }

  /** Sleeps until the time is over, or until someone wakes this id, or the sdk closes. */
  async #sleep(ms: number, id: string): Promise<void> {
    if (!this.closed) await this.#sleepers.sleep(ms, id);
  }

  async #attempt(record: OperationRecord, controller: AbortController): Promise<OperationRecord> {
    const { options, journal, observers, gate } = this.#parts;
    this.#underWay.add(record.id);
    const context = {
      parts: this.#parts,
      operation: this.operationOf(record),
      deadlines: this.#deadlines,
      controller,
      isClosed: () => this.closed,
      serverTime: () => this.serverTime(record),
      mint: this.#mint,
    };
    const isBase = record.origin === this.#parts.baseOrigin();
    const { result, event } = await observers.attempt(record, journal.livesOf(record.id), isBase, (scope) =>
      exchange(record, context, scope),
    );
    this.#underWay.delete(record.id);
    FAULT: faultPoint("settle:before");
    // Started before the slot is given back, so that the next claim can share the write's transaction.
    const writing = this.#insist(record.id, () => journal.change(record.id, event, record));
    const isOutage = gate.leave(record.origin, result.health);
    this.onProgress();
    journal.foretell(record, event);
    FAULT: faultPoint("settle:told");
    const after = (await writing) ?? record;
    FAULT: faultPoint("settle:after");
    const { id, name, origin } = record;
    if (result.fault) for (const live of journal.livesOf(id)) live.tell(result.fault);
    const cause = nameOf(result.error) ?? (result.status && `HTTP ${result.status}`);
    if (result.error !== undefined) options.log({ level: "debug", message: "an attempt failed", id, name, cause });
    if (isOutage) {
      options.log({ level: "warn", message: `${OUTAGE} attempts failed at ${origin}`, id, name, cause });
    }
    this.#notices.consider(after, context.operation, result.response?.exceeded);
    void this.#parts.diagnosis.consider(after);
    await this.#advance(after);
    return after;
  }

  /** What an answer said is not lost to a store that fails once. */
  async #insist<T>(id: string, write: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await write();
      } catch (error) {
        if (tries === PATIENCE || this.closed) throw error;
        // Under a name of its own: whoever wakes the operation does not cut it short.
        await this.#sleep(PAUSE * 2 ** tries, `the answer of ${id}`);
      }
    }
  }

  /** Wakes those of the same lane that wait in this process. */
  async #advance(record: OperationRecord): Promise<void> {
    const { owner, lane } = record;
    if (lane === undefined || !isOver(record)) return;
    const { journal } = this.#parts;
    if (isSettled(record)) {
      // Whoever waits looks by himself before long: a failure here must not pass for one of what was just written.
      const head = await journal
        .open()
        .then((store) => store.head(owner, lane))
        .catch(() => undefined);
      if (head) this.wake(head.id);
      return;
    }
    for (const { record: other } of journal.lives()) {
      if (other?.parked && other.lane === lane && other.owner === owner) this.wake(other.id);
    }
  }

  /** A change made by a person may free a lane. */
  async released(record: OperationRecord): Promise<void> {
    await this.#advance(record);
    this.wake(record.id);
    this.onProgress();
  }

  serverTime({ origin }: OperationRecord): number | undefined {
    return this.#parts.origins.serverTime(origin, this.#parts.options.clock.now());
  }

  operationOf(record: Pick<OperationRecord, "name"> & Partial<Pick<OperationRecord, "wire">>): ResolvedOperation {
    const { operations, undeclared } = this.#parts.options;
    const { name, wire } = record;
    const own = operations.get(name) ?? undeclared(name);
    // Whose hooks it is owed to is not known here.
    return wire && lacksProfile({ wire }, own) ? { ...own, declared: false, hooked: true } : own;
  }

  readonly #mint: Mint = (version) => {
    const { clock, random } = this.#parts.options;
    return mintUuid(version, clock.now(), random);
  };
}

function closing(): DOMException {
  return new DOMException("the sdk was closed", "AbortError");
}
