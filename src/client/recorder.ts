import { comparableBytes, differingFields, sameRequest } from "../core/compare.js";
import { changed, type WholeRecord } from "../core/fields.js";
import { mintUuid } from "../core/key.js";
import { holdsIntent, isSettled, type OperationRecord } from "../core/record.js";
import { CanceledError, MisuseError, StoreError } from "../errors.js";
import type { CallerTransaction, Inserted } from "../store.js";
import { bad, closedError } from "./checks.js";
import { Doubts } from "./doubts.js";
import { createRecord, type Draft } from "./draft.js";
import type { Gate } from "./gate.js";
import type { Journal } from "./journal.js";
import { Live } from "./live.js";
import type { Observers } from "./observers.js";
import type { ResolvedOptions } from "./options.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";
import { differingHeaders } from "./request-headers.js";
import { mustBeOpen } from "./sealed.js";
import type { Worker } from "./worker.js";

/** What the recorder is built from. */
export interface RecorderParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly owners: Owners;
  readonly gate: Gate;
  readonly worker: Worker;
  readonly observers: Observers;
}

/** How soon, and how long, to look whether a caller's transaction was committed, in milliseconds. */
const GLANCE = 5;
const GLANCE_CAP = 5_000;

/** A draft on its way into the store. */
interface Recording {
  readonly live: Live;
  readonly draft: Draft;
  /** Under which a doubt about it is kept: its intent, or its id. */
  readonly key: string;
  /** Earlier records of the same, which may or may not have been committed. */
  readonly doubts: readonly OperationRecord[];
  record: OperationRecord;
  /** It is being inserted: nobody works on it. */
  inserting: boolean;
  /** It holds a slot of the gate: its attempt begins with the write. */
  readonly entered: boolean;
  begun: boolean;
}

/** Makes drafts durable, once for each intent. */
export class Recorder {
  readonly #parts: RecorderParts;
  /** By owner, name and intent: five clicks in one task are one operation. */
  readonly #byIntent = new Map<string, Live>();
  readonly #doubts: Doubts;
  /** Owners whose operations were purged while anything was being recorded. */
  readonly #purged: string[] = [];
  /** How many are being recorded. A set of them would be rehashed all the time, and outlive what was in it. */
  #saving = 0;
  #whenSaved: () => void = () => {};

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#doubts = new Doubts(parts);
  }

  /**
   * The live operation that holds the draft's intent, or `mine`.
   *
   * @param acting - the draft is to be recorded now; otherwise it is only looked at
   * @throws MisuseError `intent_mismatch` when the intent's operation is another request and the draft acts
   */
  join(draft: Draft, acting: boolean, mine: Live = new Live(draft)): Live {
    const live = this.#byIntent.get(intentKey(draft) ?? "");
    const request = live?.record?.request ?? live?.draft?.request;
    // Without its body only the store can tell whether it is the same.
    if (
      !live ||
      !request ||
      live.gone ||
      live.record?.hash ||
      request.sealed ||
      (live.record && !holdsIntent(live.record))
    )
      return mine;
    // Someone else has adopted it: the intent is free again.
    if (live.record && live.record.owner !== draft.owner) return mine;
    const others = differingHeaders(request.headers, draft.request.headers, draft.operation);
    if (keepsFirst(draft) || (others.length === 0 && sameRequest(request, draft.request))) return live;
    if (acting) throw mismatch(draft, live.record, [...differingFields(request, draft.request), ...others]);
    return mine;
  }

  /** Keeps a live operation up to date until the answer is called. */
  retain(live: Live): () => void {
    const { journal } = this.#parts;
    live.holds++;
    if (live.id !== undefined) journal.register(live, live.id);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (--live.holds > 0) return;
      if (live.id !== undefined) journal.unregister(live, live.id);
      const key = live.draft && intentKey(live.draft);
      if (key !== undefined && this.#byIntent.get(key) === live) this.#byIntent.delete(key);
    };
  }

  /**
   * Records it durably, unless that was done or is under way.
   *
   * @throws StoreError, MisuseError `intent_mismatch`, `key_reused`, `bad_option`
   */
  save(live: Live): Promise<OperationRecord> {
    live.saved ??= this.#save(live);
    return live.saved;
  }

  /**
   * Records it on a transaction of the caller's, who alone knows what becomes of it: nothing here remembers it, until it is
   * seen to be committed.
   *
   * @throws what the transaction throws, StoreError, MisuseError as {@link save}
   */
  async saveWithin(live: Live, tx: CallerTransaction): Promise<OperationRecord> {
    const { draft } = live;
    const { journal } = this.#parts;
    if (!draft) bad("`tx` is for recording a new operation; this one was attached to");
    if (typeof tx?.query !== "function") bad("`tx` has no method `query(text, values)`");
    this.#check(draft);
    // An open store may tell the time, from which a deadline counts.
    await journal.open();
    const fresh = this.#record(live, draft);
    const { record, joined } = await journal.insertWithin(tx, fresh, this.#parts.options);
    if (joined) await this.#compare(draft, record, joined);
    else void this.#confirm(record.id);
    return record;
  }

  /** A commit is looked for, sooner and then later; one that comes later still is found when others' work is looked for. */
  async #confirm(id: string): Promise<void> {
    const { journal, options, worker } = this.#parts;
    for (let pause = GLANCE; pause < GLANCE_CAP && !worker.closed; pause *= 2) {
      await options.clock.sleep(pause, undefined, true);
      // A store that does not answer now may do so the next time.
      if (await journal.confirm(id).catch(() => false)) return;
    }
  }

  /** Nothing is recorded any more, and what was being recorded is. */
  async close(): Promise<void> {
    if (this.#saving > 0) {
      await new Promise<void>((resolve) => {
        this.#whenSaved = resolve;
      });
    }
  }

  /** Records of this owner that are being inserted now are not to stay. */
  purged(owner: string): void {
    if (this.#saving > 0) this.#purged.push(owner);
  }

  async #save(live: Live): Promise<OperationRecord> {
    const { draft } = live;
    if (!draft) throw new Error("samekey: only a draft can be recorded");
    const key = intentKey(draft);
    // Nobody looks at any other one before it is recorded, unless he retains it himself.
    const release = key === undefined && !draft.transient ? undefined : this.retain(live);
    if (key !== undefined) this.#byIntent.set(key, live);
    this.#saving++;
    const since = this.#purged.length;
    let recording: Recording | undefined;
    try {
      // A `send` in the same task may still ask for its attempt to begin with this write. And an open store may tell the time.
      await this.#parts.journal.open();
      recording = this.#begin(live, draft, key ?? draft.id);
      let inserted = await this.#insert(recording);
      this.#leave(recording);
      // Its record was in doubt and has been canceled: to send it once more is another operation.
      const isCanceled = inserted.joined === "id" && inserted.record.state === "canceled";
      if (isCanceled && draft.mintedId) inserted = await this.#insertAnew(recording);
      if (inserted.joined) return await this.#meet(recording, inserted.record, inserted.joined);
      if (this.#purged.includes(draft.owner, since)) await this.#takeBack(recording);
      return this.#drive(recording, inserted.record);
    } catch (error) {
      live.saved = undefined;
      throw recording?.inserting ? this.#failed(recording, error) : error;
    } finally {
      if (recording && !recording.begun) this.#giveUp(recording);
      release?.();
      if (--this.#saving === 0) this.#allSaved();
    }
  }

  #allSaved(): void {
    this.#purged.length = 0;
    this.#whenSaved();
  }

  #begin(live: Live, draft: Draft, key: string): Recording {
    const { gate, worker, platform, owners } = this.#parts;
    this.#check(draft);
    const fresh = this.#record(live, draft);
    const atOnce = live.wanted && draft.lane === undefined && !platform.isOffline() && owners.mayAct(draft.owner);
    const entered = atOnce && gate.tryEnter(draft.origin);
    const doubts = this.#doubts.take(key);
    const recording: Recording = { live, draft, key, doubts, record: fresh, inserting: false, entered, begun: false };
    try {
      if (entered) recording.record = worker.begin(fresh);
    } catch (error) {
      this.#giveUp(recording);
      throw error;
    }
    if (!draft.mintedId) this.#doubts.name(recording.record);
    return recording;
  }

  #record(live: Live, draft: Draft): WholeRecord {
    const { options, observers } = this.#parts;
    return createRecord(draft, options.clock.now(), options.random, observers.traceparent(live));
  }

  #giveUp({ draft, record, entered }: Recording): void {
    this.#doubts.unname(record);
    if (entered) this.#parts.gate.leave(draft.origin, "unknown");
  }

  async #insertAnew(recording: Recording): Promise<Inserted> {
    const { options } = this.#parts;
    const { live, draft, key, doubts } = recording;
    const record = changed(recording.record, { id: mintUuid("v7", options.clock.now(), options.random) });
    recording.record = record;
    const inserted = await this.#insert(recording);
    this.#leave(recording);
    if (!inserted.joined) {
      this.#rename(live, draft.id, inserted.record);
      live.record = inserted.record;
      void this.#doubts.withdraw(key, doubts);
    }
    return inserted;
  }

  /** The operation that stands there already, if it is this one. */
  async #meet(
    { live, draft, key, doubts, record }: Recording,
    standing: OperationRecord,
    joined: NonNullable<Inserted["joined"]>,
  ): Promise<OperationRecord> {
    this.#doubts.unname(record);
    try {
      await this.#compare(draft, standing, joined);
      return this.#adopt(live, draft, await this.#doubts.takeOver(standing, [...doubts, record]));
    } catch (error) {
      void this.#doubts.withdraw(key, doubts);
      throw error;
    }
  }

  /** Its owner's operations were purged while it was inserted. */
  async #takeBack({ key, record }: Recording): Promise<never> {
    try {
      await this.#parts.journal.update(record.id, () => undefined);
    } catch (error) {
      void this.#doubts.withdraw(key, [record]);
      throw error;
    }
    throw new CanceledError("canceled", { id: record.id, detail: "its owner's operations were purged" });
  }

  /** Makes the attempt that was recorded with it, if one was. */
  #drive(recording: Recording, inserted: OperationRecord): OperationRecord {
    const { live, draft, record } = recording;
    live.record ??= inserted;
    if (draft.transient) this.#retainUntilSettled(live);
    recording.begun = record.mark !== undefined;
    if (recording.begun) {
      const run = this.#parts.worker.run(record.id, inserted);
      if (!draft.mintedId) void run.finally(() => this.#doubts.unname(record));
    }
    return inserted;
  }

  #check({ onBehalf, owner }: Draft): void {
    const { worker, owners } = this.#parts;
    if (worker.closed) throw closedError();
    if (onBehalf || owners.asked() === owner) return;
    bad("the call was made while someone else was signed in: describe the operation anew for the present `owner`");
  }

  /** To be followed by {@link #leave} when it is done; a failure goes through {@link #failed}. */
  #insert(recording: Recording): Promise<Inserted> {
    recording.inserting = true;
    this.#doubts.withhold(recording.record.id);
    return this.#parts.journal.insert(recording.record, this.#parts.options);
  }

  #leave(recording: Recording): void {
    recording.inserting = false;
    this.#doubts.release(recording.record.id);
  }

  /** What is told of an insertion that failed. */
  #failed(recording: Recording, cause: unknown): unknown {
    const { key, doubts, record } = recording;
    this.#leave(recording);
    const isUnknown = cause instanceof StoreError && (cause.code === "stalled" || cause.code === "not_durable");
    void this.#doubts.withdraw(key, isUnknown ? [...doubts, record] : doubts);
    if (!isUnknown || cause.id !== undefined) return cause;
    return new StoreError(cause.code, { id: record.id, detail: `operation ${record.id}`, cause });
  }

  /** Headers that are not kept are there for every attempt of this process. */
  #retainUntilSettled(live: Live): void {
    const release = this.retain(live);
    const stop = live.watch(() => {
      if (!live.gone && !(live.record && isSettled(live.record))) return;
      stop();
      release();
    });
  }

  /** The intent, key or id was taken: the earlier operation is this one, or the call is wrong. */
  async #compare(draft: Draft, standing: OperationRecord, by: NonNullable<Inserted["joined"]>): Promise<void> {
    // An id is one owner's. Of whose operation it is, the other is told nothing.
    if (standing.owner !== draft.owner) bad(`the id ${draft.id} is taken already; use another`);
    if (by === "intent" && keepsFirst(draft)) return;
    if (standing.request.sealed || standing.hash) mustBeOpen(standing);
    const isSame = standing.hash
      ? standing.hash === (await this.#parts.platform.digest(comparableBytes(draft.request)))
      : sameRequest(standing.request, draft.request);
    const others = differingHeaders(standing.request.headers, draft.request.headers, draft.operation);
    const fields = [...(isSame ? [] : differingFields(standing.request, draft.request)), ...others];
    if (by === "id") {
      if (standing.name !== draft.operation.name) fields.push("operation");
      // One that its record does not carry would be found by no later call of that intent.
      if (draft.intent !== undefined && standing.intent !== draft.intent) fields.push("intent");
    }
    if (isSame && fields.length === 0) return;
    if (by === "intent") throw mismatch(draft, standing, fields);
    const detail = `the ${by} ${by === "id" ? draft.id : draft.key} belongs to another operation already`;
    throw new MisuseError(by === "key" ? "key_reused" : "bad_option", { record: standing, fields, detail });
  }

  /** Whoever keeps it up to date goes on doing so under the id of its record. */
  #rename(live: Live, from: string, { id }: OperationRecord): void {
    const { journal } = this.#parts;
    if (id !== from) journal.unregister(live, from);
    if (live.holds > 0) journal.register(live, id);
  }

  #adopt(live: Live, draft: Draft, record: OperationRecord): OperationRecord {
    this.#rename(live, draft.id, record);
    live.adopt(record);
    if (draft.transient) this.#retainUntilSettled(live);
    return record;
  }
}

function intentKey(draft: Draft): string | undefined {
  return draft.intent === undefined ? undefined : JSON.stringify([draft.owner, draft.operation.name, draft.intent]);
}

function keepsFirst(draft: Draft): boolean {
  return draft.operation.options.onIntentMismatch === "keep-first";
}

function mismatch(draft: Draft, record: OperationRecord | undefined, fields: readonly string[]): MisuseError {
  const detail = `intent ${JSON.stringify(draft.intent)} of \`${draft.operation.name}\` differs in ${fields.join(", ")}`;
  return new MisuseError("intent_mismatch", { record, fields, detail });
}
