import { faultPoint } from "../core/fault-point.js";
import { mintUuid, successorIdOf } from "../core/key.js";
import { hasOutcome, type OperationRecord } from "../core/record.js";
import { successorOf } from "../core/reissue.js";
import { type OperationEvent, transition } from "../core/transition.js";
import { CanceledError, MisuseError, PendingError, SamekeyError, UnknownOutcomeError } from "../errors.js";
import { unknownOperation, waitOption } from "./checks.js";
import type { Emitter } from "./events.js";
import type { Journal } from "./journal.js";
import type { Leases } from "./leases.js";
import { createSnapshot, isSameSnapshot, type Live, type Snapshot } from "./live.js";
import type { Observers } from "./observers.js";
import type { ResolvedOptions } from "./options.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";
import type { Recorder } from "./recorder.js";
import { isOver, type Outcome, readError, readOutcome, readResult } from "./result.js";
import { mustBeOpen } from "./sealed.js";
import type { SaveOptions, SendOptions, SendResult } from "./types.js";
import { isSealedElsewhere, unblock } from "./unblock.js";
import type { Ending, Waiting } from "./waiting.js";
import type { Worker } from "./worker.js";

/** What the operator is built from. */
export interface OperatorParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly owners: Owners;
  readonly recorder: Recorder;
  readonly waiting: Waiting;
  readonly worker: Worker;
  readonly leases: Leases;
  readonly emitter: Emitter;
  readonly observers: Observers;
}

/** What handles do: record, send, wait, look. */
export class Operator {
  readonly #parts: OperatorParts;
  readonly #snapshots = new WeakMap<Live, Snapshot>();
  readonly #outcomes = new WeakMap<Live, { rev: number; outcome?: Outcome }>();
  #watched = 0;
  #stopWaking: (() => void) | undefined;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  save(live: Live, { tx }: SaveOptions): Promise<OperationRecord> {
    const { recorder, observers } = this.#parts;
    return observers.call("save", live, () => (tx === undefined ? recorder.save(live) : recorder.saveWithin(live, tx)));
  }

  async send(live: Live, options: SendOptions): Promise<SendResult> {
    const record = await this.drive(live, options);
    const schemas = this.#parts.worker.operationOf(record).options;
    if (record.state === "succeeded") {
      return await readResult(record, schemas.result, live.fromStore ? "store" : undefined);
    }
    throw await readError(record, schemas.error);
  }

  async outcome(live: Live, options: SendOptions): Promise<Outcome> {
    try {
      const record = await this.drive(live, options);
      return await this.#read(live, record);
    } catch (error) {
      if (error instanceof CanceledError) return { state: "canceled", error };
      const { record } = live;
      if (!record) {
        const isOurs = error instanceof SamekeyError;
        return { state: "unsaved", error: isOurs ? error : new PendingError("pending", { cause: error }) };
      }
      if (error instanceof UnknownOutcomeError) return { state: "unresolved", error };
      const pending = error instanceof PendingError || error instanceof MisuseError;
      const state = record.state === "blocked" ? "blocked" : "pending";
      return { state, error: pending ? error : new PendingError("pending", { record, cause: error }) };
    }
  }

  async cancelLive(live: Live): Promise<OperationRecord | undefined> {
    if (live.saved) return this.cancel((await live.saved).id);
    live.saved = Promise.reject(new CanceledError("canceled", { id: live.id }));
    live.saved.catch(() => {});
    return undefined;
  }

  cancel(id: string): Promise<OperationRecord> {
    return this.decide(id, (common) => ({ ...common, type: "cancel" }));
  }

  /**
   * Puts a person's decision to a record, wherever it stands now.
   *
   * @throws MisuseError `unknown_operation`, and whatever `transition` throws
   */
  async decide(
    id: string,
    event: (common: { at: number; hook: boolean }, record: OperationRecord) => OperationEvent,
  ): Promise<OperationRecord> {
    const { journal, options, worker, leases } = this.#parts;
    FAULT: faultPoint("decide:before");
    const record = await journal.update(id, (standing) => {
      // Only now: a store that tells the time may just have been opened.
      const at = options.clock.now();
      const decided = transition(standing, event({ at, hook: worker.operationOf(standing).hooked }, standing));
      const isTaken = decided.owner !== standing.owner || decided.resolution !== standing.resolution;
      // A clock that was put may have ended its lease: it is sent all the same, as what it was when it began.
      if (isTaken && (worker.isUnderWay(id) || (standing.mark && leases.isHeld(standing))))
        throw new MisuseError("in_flight", { record: standing });
      return decided;
    });
    FAULT: faultPoint("decide:after");
    if (!record) throw unknownOperation(id);
    await worker.released(record);
    return record;
  }

  /** Another operation in the place of one that was given up. Interrupted between the two writes, it is done by asking again. */
  async reissue(id: string, reason: string): Promise<OperationRecord> {
    const { journal, options, worker } = this.#parts;
    const given = await (await journal.open()).get(id);
    // Before the old one is let go of: there would be nothing to put in its place.
    if (given?.request.sealed) mustBeOpen(given);
    const old = await this.decide(id, (common, standing) => {
      return { ...common, type: "reissue", reason, serverAt: worker.serverTime(standing) };
    });
    const at = options.clock.now();
    const key = mintUuid(old.wire.mint === "v4" ? "v4" : "v7", at, options.random);
    const { record, joined } = await journal.insert(successorOf(old, { id: successorIdOf(id), key, at }));
    if (joined === "intent" || joined === "key") throw new MisuseError("intent_mismatch", { record });
    return record;
  }

  /** Calls back when the live operation changes; keeps it up to date meanwhile. */
  watch(live: Live, listeners: ReadonlySet<() => void>): () => void {
    const { recorder, journal, platform, emitter } = this.#parts;
    // Nobody kept it up to date until now.
    if (live.record && live.holds === 0) journal.refresh(live.record.id).catch(() => {});
    const release = recorder.retain(live);
    const stop = live.watch(() => {
      this.#readOutcomeOf(live);
      for (const listener of [...listeners]) emitter.call(listener);
    });
    this.#watched++;
    this.#stopWaking ??= platform.onWake(() => this.tellAll());
    return () => {
      stop();
      release();
      if (--this.#watched > 0) return;
      this.#stopWaking?.();
      this.#stopWaking = undefined;
    };
  }

  snapshot(live: Live): Snapshot {
    this.#readOutcomeOf(live);
    // One that was blocked and goes on has none.
    const outcome = live.record && isOver(live.record) ? this.#outcomes.get(live)?.outcome : undefined;
    const next = createSnapshot(live, this.#parts.platform.isOffline(), outcome);
    const last = this.#snapshots.get(live);
    if (last && isSameSnapshot(last, next)) return last;
    this.#snapshots.set(live, next);
    return next;
  }

  /** Everyone looks again at where things stand. */
  tellAll(): void {
    for (const live of this.#parts.journal.lives()) live.changed();
  }

  /** Records, drives and waits until the operation is over or the waiting is. */
  async drive(live: Live, { signal, wait: asked }: SendOptions): Promise<OperationRecord> {
    const { waiting, worker, observers } = this.#parts;
    const operation = live.draft?.operation ?? worker.operationOf(live.record ?? { name: "" });
    const wait = asked === undefined ? operation.wait : waitOption(asked, "wait");
    signal?.throwIfAborted();
    live.wanted = true;
    live.waiting++;
    try {
      const late = (): PendingError =>
        new PendingError("pending", { id: live.id, record: live.record, detail: `no outcome within ${wait} ms` });
      return await observers.call("send", live, () =>
        waiting.until((ending) => this.#settle(live, ending), signal, wait, late),
      );
    } finally {
      live.waiting--;
    }
  }

  async #settle(live: Live, ending: Ending): Promise<OperationRecord> {
    const { worker, owners, journal, recorder } = this.#parts;
    const { notice, record: known } = live;
    const release = recorder.retain(live);
    // A caller who names the owner answers for him, until this operation is driven to its end.
    const revoke = live.draft?.onBehalf ? owners.grant(live.draft.owner) : () => {};
    let run: Promise<void> | undefined;
    let driven = false;
    try {
      const saved = await recorder.save(live);
      live.fromStore ||= known !== undefined && hasOutcome(known);
      /** A store that fails by now ends the waiting alone. */
      const goOn = async (step: () => Promise<unknown>): Promise<void> => {
        await step().catch((cause: unknown) => {
          throw new PendingError("pending", { record: live.record, cause });
        });
      };
      // It may have gone on since this handle last looked.
      if (known) await goOn(() => journal.refresh(saved.id));
      const { record: found } = live;
      if (found && canUnblock(found, live)) await goOn(() => unblock(this.#parts, found));
      for (;;) {
        const record = live.record ?? saved;
        // What has an outcome keeps it, pruned or not: to call it canceled would be to say that nothing was applied.
        if (live.gone && !hasOutcome(record)) throw purged(record);
        const mayAct = !worker.closed && owners.mayAct(record.owner);
        if (mayAct && isSealedElsewhere(record) && !worker.lacksProfile(record)) {
          await goOn(async () => {
            await unblock(this.#parts, record);
            await journal.refresh(record.id);
          });
          continue;
        }
        // Whoever sent drives it, even if he waits no longer when it has been recorded.
        if (isOver(record) || (ending.over && driven)) return record;
        if (live.notice !== notice) throw live.notice;
        if (worker.closed) throw new PendingError("closed", { record });
        if (!owners.mayAct(record.owner)) {
          throw new PendingError("blocked", { record, detail: "its owner is not signed in" });
        }
        driven = true;
        run ??= worker.run(record.id).finally(() => {
          run = undefined;
          live.changed();
        });
        if (ending.over) return record;
        await changed(live, ending);
      }
    } finally {
      // The sender drives it to its end, waiter or none.
      const end = (): void => {
        revoke();
        release();
      };
      if (run) void run.then(end, end);
      else end();
    }
  }

  #readOutcomeOf(live: Live): void {
    const { record } = live;
    if (!record || !isOver(record) || this.#outcomes.get(live)?.rev === record.rev) return;
    this.#outcomes.set(live, { rev: record.rev });
    void this.#read(live, record).then((outcome) => {
      if (this.#outcomes.get(live)?.rev !== record.rev) return;
      this.#outcomes.set(live, { rev: record.rev, outcome: Object.freeze(outcome) });
      live.changed();
    });
  }

  #read(live: Live, record: OperationRecord): Promise<Outcome> {
    const schemas = this.#parts.worker.operationOf(record).options;
    return readOutcome(record, schemas, live.fromStore ? "store" : undefined);
  }
}

/** Whoever sends again has signed in, or brings the headers that were missing. */
function canUnblock({ state, blockedBy, request }: OperationRecord, live: Live): boolean {
  if (state !== "blocked") return false;
  if (blockedBy === "credentials") return !request.sealed;
  return blockedBy === "headers" && request.dropped.every((name) => live.draft?.transient?.has(name));
}

/** Its record was removed while someone waited for it. Another may have sent it since it was last seen here. */
function purged(record: OperationRecord): SamekeyError {
  const detail = "its record is no longer in the store: purged, pruned, or evicted by the browser";
  return new UnknownOutcomeError("discarded", { record, detail });
}

function changed(live: Live, ending: Ending): Promise<void> {
  return new Promise((resolve) => {
    const stops = [live.watch(done), ending.on(done)];
    function done(): void {
      for (const stop of stops) stop();
      resolve();
    }
  });
}
