import type { OperationRecord } from "../core/record.js";
import type { Claimed, Sealing } from "../store.js";
import type { Emitter } from "./events.js";
import type { Gate } from "./gate.js";
import { Janitor, PAUSE } from "./janitor.js";
import type { Journal } from "./journal.js";
import type { Leases } from "./leases.js";
import type { ResolvedOptions } from "./options.js";
import type { Origins } from "./origins.js";
import type { Owners } from "./owners.js";
import { pages } from "./pages.js";
import type { Platform } from "./platform-port.js";
import { isSealedElsewhere, unblock } from "./unblock.js";
import type { Ending, Waiting } from "./waiting.js";
import type { Worker } from "./worker.js";

/** What `resume` did. */
export interface ResumeReport {
  readonly succeeded: number;
  readonly rejected: number;
  readonly misused: number;
  readonly expired: number;
  readonly blocked: number;
  readonly unresolved: number;
  /** Still pending. */
  readonly remaining: number;
}

/** Options of `resume`, resolved. */
export interface ResumeRequest {
  /** Whose; `"*"` for everyone's. @defaultValue the present owner's */
  readonly owner?: string | undefined;
  /** In milliseconds. */
  readonly wait: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((report: ResumeReport) => void) | undefined;
}

/** One `resume` under way. */
interface Errand {
  readonly request: ResumeRequest;
  readonly until: number;
  readonly finish: () => void;
}

/** The longest that pruning waits for a page to be idle, in milliseconds. */
const IDLE = 1_000;

/** What the drain is built from. */
export interface DrainParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly owners: Owners;
  readonly origins: Origins;
  readonly gate: Gate;
  readonly worker: Worker;
  readonly leases: Leases;
  readonly waiting: Waiting;
  readonly emitter: Emitter;
}

/** Drives whatever is due, for `start()` and `resume()`: one loop, however many ask for it. */
export class Drain {
  readonly #parts: DrainParts;
  readonly #errands = new Set<Errand>();
  #started = false;
  #looping = false;
  #stale = false;
  #waker: AbortController | undefined;
  readonly #janitor: Janitor;

  constructor(parts: DrainParts) {
    this.#parts = parts;
    this.#janitor = new Janitor(parts);
    parts.worker.onProgress = () => this.kick();
    parts.gate.onLeave = () => this.kick();
    parts.journal.onFree = (id) => {
      parts.worker.wake(id);
      this.kick();
    };
    parts.emitter.on("saved", ({ mark }) => {
      if (!mark) this.kick();
    });
    parts.emitter.on("ownerchange", () => {
      if (this.#started) void this.#welcome(undefined);
    });
  }

  start(): void {
    if (this.#started || this.#parts.worker.closed) return;
    this.#started = true;
    void this.#welcome(undefined);
    void this.#run();
  }

  stop(): void {
    this.#started = false;
    for (const errand of this.#errands) errand.finish();
    this.kick();
  }

  /** Looks again at once: something may be due. */
  kick(): void {
    this.#stale = true;
    this.#waker?.abort();
  }

  async resume(request: ResumeRequest): Promise<ResumeReport> {
    const { options, owners, emitter, journal, waiting } = this.#parts;
    const release = request.owner === undefined ? () => {} : owners.grant(request.owner);
    const whose = request.owner ?? owners.present();
    const owner = whose === "*" ? undefined : whose;
    const report = { succeeded: 0, rejected: 0, misused: 0, expired: 0, blocked: 0, unresolved: 0, remaining: 0 };
    const count = (record: OperationRecord): void => {
      if (owner !== undefined && record.owner !== owner) return;
      if (record.state !== "pending" && record.state !== "canceled") report[record.state]++;
      report.remaining = Math.max(0, report.remaining - 1);
      request.onProgress?.({ ...report });
    };
    const events = ["settled", "blocked", "unresolved"] as const;
    const stops = events.map((event) => emitter.on(event, count));
    const over = new Error("samekey: the time is over");
    const recount = async (): Promise<void> => {
      report.remaining = (await (await journal.open()).counts(owner)).pending ?? 0;
      isCounted = true;
    };
    let isCounted = whose === undefined;
    try {
      if (whose === undefined) return report;
      const work = async (ending: Ending): Promise<void> => {
        await this.#welcome(whose);
        await recount();
        // Nobody waits any more: what it would begin now nobody asked for.
        if (ending.over) return;
        // An open store may have told the time.
        await this.#errand(request, options.clock.now() + request.wait);
        await recount();
      };
      await waiting.until(work, request.signal, request.wait, () => over);
    } catch (error) {
      // However the waiting ends: what was under way goes on.
      if (error !== over && !request.signal?.aborted) throw error;
    } finally {
      for (const stop of stops) stop();
      for (const errand of this.#errands) if (errand.request === request) this.#errands.delete(errand);
      this.kick();
      release();
    }
    // Whoever gave up before it was known is not told that nothing is left.
    if (!isCounted) await recount();
    return report;
  }

  #errand(request: ResumeRequest, until: number): Promise<void> {
    return new Promise((finish) => {
      this.#errands.add({ request, until, finish });
      void this.#run();
      this.kick();
    });
  }

  /** What waited for someone who is here now: leases of the dead, and operations that lacked credentials or a seal's key. */
  async #welcome(whose: string | undefined): Promise<void> {
    const { journal, owners, leases } = this.#parts;
    try {
      await leases.relieve();
      const owner = whose ?? owners.present();
      if (owner === undefined) return;
      const store = await journal.open();
      const filter = { states: ["blocked" as const], ...(owner !== "*" && { owner }) };
      for await (const records of pages(store, filter)) {
        await Promise.all(records.filter(isWelcome).map((record) => unblock(this.#parts, record)));
      }
      this.kick();
    } catch (error) {
      this.#report(error);
    }
  }

  #wanted(): boolean {
    return !this.#parts.worker.closed && (this.#started || this.#errands.size > 0);
  }

  async #run(): Promise<void> {
    if (this.#looping) return;
    this.#looping = true;
    const stopWaking = this.#parts.platform.onWake(() => this.kick());
    try {
      while (this.#wanted()) await this.#turn();
    } finally {
      // In the same step as the last look at who wants it: whoever came between the two would wait for ever.
      this.#looping = false;
      stopWaking();
      for (const errand of this.#errands) errand.finish();
    }
  }

  async #turn(): Promise<void> {
    const { options, platform, journal, worker } = this.#parts;
    this.#stale = false;
    let next: number | undefined;
    let isUnknown = false;
    const { sealing } = journal;
    if (sealing) worker.track(this.#takeUp(sealing)).catch((error: unknown) => this.#report(error));
    try {
      const idle = { busy: false, full: false, next: undefined };
      const found = platform.isOffline() ? idle : await worker.track(this.#round());
      if (found.busy) return await this.#janitor.hurry(options.clock.now());
      isUnknown = found.full;
      next = found.next;
    } catch (error) {
      isUnknown = true;
      this.#report(error);
    }
    const now = options.clock.now();
    for (const errand of this.#errands) {
      const isIdle = !isUnknown && worker.busy === 0 && (next === undefined || next > errand.until);
      if (isIdle && !this.#stale) errand.finish();
    }
    if (!this.#wanted() || this.#stale) return;
    const isUntidy = this.#started && (await this.#tidy(now));
    if (this.#stale) return;
    if (isUntidy) return this.#rest();
    await this.#sleep(Math.max(0, Math.min((next ?? Number.POSITIVE_INFINITY) - now, platform.pollEvery)));
  }

  /** What a program that lacks the seal's key has blocked meanwhile. Beside all else: what is due does not wait for it. */
  async #takeUp(sealing: Sealing): Promise<void> {
    const { owners } = this.#parts;
    const found = await sealing.openable();
    await Promise.all(found.map((record) => owners.mayAct(record.owner) && unblock(this.#parts, record)));
    if (found.length > 0) this.kick();
  }

  /** Claims what is due and sets it to work; does not wait for it. */
  async #round(): Promise<{ busy: boolean; full: boolean; next: number | undefined }> {
    const { options, owners, origins, gate, journal, worker } = this.#parts;
    const acting = owners.acting();
    let busy = false;
    let next: number | undefined;
    for (const owner of acting ?? [undefined]) {
      const now = options.clock.now();
      const { closed, room, next: probe } = origins.survey(now);
      // Hooks hold no slot, but no more of them than of attempts run at once either.
      const limit = Math.min(gate.free, room, 2 * options.concurrency - worker.busy);
      if (limit <= 0) return { busy, full: true, next };
      const query = { now, limit, owner, exceptOrigins: closed, exceptReaders: worker.lacking };
      let claimed: Claimed = { records: [] };
      await gate.reserve(limit, async () => {
        claimed = await journal.claim(query, (record) => worker.begin(record));
        return claimed.records.filter(({ mark }) => mark).map(({ origin }) => origin);
      });
      for (const record of claimed.records) this.#dispatch(record);
      busy ||= claimed.records.length > 0;
      for (const time of [claimed.next, probe]) if (time !== undefined) next = Math.min(next ?? time, time);
    }
    return { busy, full: false, next };
  }

  #dispatch(record: OperationRecord): void {
    const { worker } = this.#parts;
    const work = record.lease ? worker.work(record) : worker.released(record);
    // A store that fails here fails again at the next claim, where it is reported.
    work.catch((error: unknown) => this.#report(error));
  }

  async #sleep(ms: number): Promise<void> {
    try {
      await this.#nap(ms);
      await this.#parts.leases.relieve();
    } catch {
      // Kicked, or the store failed: the next round tells.
    }
  }

  /** Rejects when it is kicked. */
  async #nap(ms: number): Promise<void> {
    this.#waker = new AbortController();
    try {
      await this.#parts.options.clock.sleep(ms, this.#waker.signal, true);
    } finally {
      this.#waker = undefined;
    }
  }

  /** Between two steps of pruning: others have their turn, and work that has come meanwhile goes first. */
  async #rest(): Promise<void> {
    const forget = this.#parts.platform.onIdle?.(() => this.kick());
    await this.#nap(forget ? IDLE : PAUSE).catch(() => {});
    forget?.();
  }

  async #tidy(now: number): Promise<boolean> {
    try {
      return await this.#janitor.tidy(now);
    } catch (error) {
      this.#report(error);
      return false;
    }
  }

  #report(cause: unknown): void {
    this.#parts.options.log({ level: "error", message: "the background drain met an error", cause });
  }
}

function isWelcome(record: OperationRecord): boolean {
  return record.blockedBy === "credentials" || isSealedElsewhere(record);
}
