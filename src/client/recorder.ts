import { comparableBytes, differingFields, sameRequest } from "../core/compare.js";
import { mintUuid } from "../core/key.js";
import { holdsIntent, isSettled, type OperationRecord } from "../core/record.js";
import { transition } from "../core/transition.js";
import { CanceledError, MisuseError, StoreError } from "../errors.js";
import type { CallerTransaction, Inserted } from "../store.js";
import { bad, closedError } from "./checks.js";
import { createRecord, type Draft } from "./draft.js";
import type { Gate } from "./gate.js";
import type { Journal } from "./journal.js";
import { Live } from "./live.js";
import type { ResolvedOptions } from "./options.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";
import type { Worker } from "./worker.js";

/** What the recorder is built from. */
export interface RecorderParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly owners: Owners;
  readonly gate: Gate;
  readonly worker: Worker;
}

const PAUSE = 1_000;
const PAUSE_CAP = 60_000;
/** How soon, and how long, to look whether a caller's transaction was committed, in milliseconds. */
const GLANCE = 5;
const GLANCE_CAP = 5_000;

/** Makes drafts durable, once for each intent. */
export class Recorder {
  readonly #parts: RecorderParts;
  /** By owner, name and intent: five clicks in one task are one operation. */
  readonly #byIntent = new Map<string, Live>();
  /** Records of which nobody knows whether they were committed; by intent, or by id. */
  readonly #doubts = new Map<string, readonly OperationRecord[]>();
  /** What is being recorded or sent here under ids that callers gave: another's doubt about such an id is not about it. */
  readonly #named = new Set<OperationRecord>();
  readonly #purges = new Map<string, number>();
  readonly #saving = new Set<Promise<unknown>>();

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    parts.worker.isWithheld = (id) => [...this.#doubts.values()].some((some) => some.some((own) => own.id === id));
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
    if (!live || !request || live.gone || live.record?.hash || (live.record && !holdsIntent(live.record))) return mine;
    // Someone else has adopted it: the intent is free again.
    if (live.record && live.record.owner !== draft.owner) return mine;
    if (keepsFirst(draft) || sameRequest(request, draft.request)) return live;
    if (acting) throw mismatch(draft, live.record, differingFields(request, draft.request));
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
    live.saved ??= this.#save(live).catch((error: unknown) => {
      live.saved = undefined;
      throw error;
    });
    return live.saved;
  }

  /**
   * Records it on a transaction of the caller's, who alone knows what becomes of it: nothing here remembers it, until it is
   * seen to be committed.
   *
   * @throws what the transaction throws, StoreError, MisuseError as {@link save}
   */
  async saveWithin({ draft }: Live, tx: CallerTransaction): Promise<OperationRecord> {
    const { options, journal } = this.#parts;
    if (!draft) bad("`tx` is for recording a new operation; this one was attached to");
    if (typeof tx?.query !== "function") bad("`tx` has no method `query(text, values)`");
    this.#check(draft);
    const fresh = createRecord(draft, options.clock.now(), options.random);
    const { record, joined } = await journal.insertWithin(tx, fresh);
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
    await Promise.allSettled([...this.#saving]);
  }

  /** Records of this owner that are being inserted now are not to stay. */
  purged(owner: string): void {
    this.#purges.set(owner, (this.#purges.get(owner) ?? 0) + 1);
  }

  async #save(live: Live): Promise<OperationRecord> {
    const { draft } = live;
    if (!draft) throw new Error("samekey: only a draft can be recorded");
    const release = this.retain(live);
    const key = intentKey(draft);
    if (key !== undefined) this.#byIntent.set(key, live);
    const saving = this.#persist(live, draft);
    this.#saving.add(saving);
    try {
      return await saving;
    } finally {
      this.#saving.delete(saving);
      release();
    }
  }

  async #persist(live: Live, draft: Draft): Promise<OperationRecord> {
    const { options, journal, gate, worker, platform, owners } = this.#parts;
    const purges = this.#purges.get(draft.owner);
    // A `send` in the same task may still ask for its attempt to begin with this write.
    await undefined;
    this.#check(draft);
    const doubtKey = intentKey(draft) ?? draft.id;
    const doubts = this.#doubts.get(doubtKey) ?? [];
    const fresh = { ...createRecord(draft, options.clock.now(), options.random), seq: 0, rev: 0 };
    const atOnce = live.wanted && draft.lane === undefined && !platform.isOffline() && owners.mayAct(draft.owner);
    const entered = atOnce && gate.tryEnter(draft.origin);
    this.#doubts.delete(doubtKey);
    let begun = false;
    let record = fresh;
    try {
      if (entered) record = worker.begin(fresh);
      if (!draft.mintedId) this.#named.add(record);
      let inserted = await this.#insert(record, doubtKey, doubts);
      if (inserted.joined === "id" && inserted.record.state === "canceled" && draft.mintedId) {
        // Its record was in doubt and has been canceled: to send it once more is another operation.
        record = { ...record, id: mintUuid("v7", options.clock.now(), options.random) };
        inserted = await this.#insert(record, doubtKey, doubts);
        if (!inserted.joined) {
          journal.unregister(live, draft.id);
          live.record = inserted.record;
          journal.register(live, record.id);
          void this.#withdraw(doubtKey, doubts);
        }
      }
      if (inserted.joined) {
        this.#named.delete(record);
        try {
          await this.#compare(draft, inserted.record, inserted.joined);
          return this.#adopt(live, draft, await this.#takeOver(inserted.record, [...doubts, record]));
        } catch (error) {
          void this.#withdraw(doubtKey, doubts);
          throw error;
        }
      }
      if (this.#purges.get(draft.owner) !== purges) {
        await journal
          .update(record.id, () => undefined)
          .catch((error: unknown) => {
            void this.#withdraw(doubtKey, [record]);
            throw error;
          });
        throw new CanceledError("canceled", { id: record.id, detail: "its owner's operations were purged" });
      }
      live.record ??= inserted.record;
      if (draft.transient) this.#retainUntilSettled(live);
      begun = record.mark !== undefined;
      if (begun) {
        const run = worker.run(record.id, inserted.record);
        if (!draft.mintedId) void run.finally(() => this.#named.delete(record));
      }
      return inserted.record;
    } finally {
      if (!begun) this.#named.delete(record);
      if (entered && !begun) gate.leave(draft.origin, "unknown");
    }
  }

  #check({ onBehalf, owner }: Draft): void {
    const { worker, owners } = this.#parts;
    if (worker.closed) throw closedError();
    if (onBehalf || owners.asked() === owner) return;
    bad("the call was made while someone else was signed in: describe the operation anew for the present `owner`");
  }

  async #insert(record: OperationRecord, key: string, doubts: readonly OperationRecord[]): Promise<Inserted> {
    try {
      return await this.#parts.journal.insert(record);
    } catch (cause) {
      const isUnknown = cause instanceof StoreError && (cause.code === "stalled" || cause.code === "not_durable");
      void this.#withdraw(key, isUnknown ? [...doubts, record] : doubts);
      if (!isUnknown || cause.id !== undefined) throw cause;
      throw new StoreError(cause.code, { id: record.id, detail: `operation ${record.id}`, cause });
    }
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
    const isSame = standing.hash
      ? standing.hash === (await this.#parts.platform.digest(comparableBytes(draft.request)))
      : sameRequest(standing.request, draft.request);
    if (isSame) return;
    const fields = differingFields(standing.request, draft.request);
    if (by === "intent") throw mismatch(draft, standing, fields);
    const detail = `the ${by} ${by === "id" ? draft.id : draft.key} belongs to another request already`;
    throw new MisuseError(by === "key" ? "key_reused" : "bad_option", { record: standing, fields, detail });
  }

  /** A record that this process wrote without knowing was never sent, whatever its mark says. */
  async #takeOver(standing: OperationRecord, doubts: readonly OperationRecord[]): Promise<OperationRecord> {
    const own = doubts.find(({ id }) => id === standing.id);
    if (!own || this.#unbegun(standing, own) === standing) return standing;
    return (await this.#parts.journal.update(own.id, (found) => this.#unbegun(found, own))) ?? standing;
  }

  #adopt(live: Live, draft: Draft, record: OperationRecord): OperationRecord {
    const { journal } = this.#parts;
    if (record.id !== draft.id) journal.unregister(live, draft.id);
    live.adopt(record);
    journal.register(live, record.id);
    if (draft.transient) this.#retainUntilSettled(live);
    return record;
  }

  /** A record whose commit is in doubt was not sent: it is canceled as soon as the store answers. */
  async #withdraw(key: string, records: readonly OperationRecord[]): Promise<void> {
    const { journal, options, worker } = this.#parts;
    if (records.length === 0) return;
    this.#doubts.set(key, records);
    // Whoever records the same again takes the doubt over.
    const isMine = (): boolean => !worker.closed && this.#doubts.get(key) === records;
    for (let pause = PAUSE; isMine(); pause = Math.min(pause * 2, PAUSE_CAP)) {
      try {
        const cancel = (found: OperationRecord, own: OperationRecord): OperationRecord => {
          const unbegun = this.#unbegun(found, own);
          if (!isMine() || !this.#isOwn(found, own) || unbegun.mark || unbegun.state !== "pending") return found;
          return transition(unbegun, { type: "cancel", at: options.clock.now(), hook: false });
        };
        const found = await Promise.all(records.map((own) => journal.update(own.id, (record) => cancel(record, own))));
        // Not there: a commit may still be under way, but not for so long.
        if (isMine() && (found.some(Boolean) || pause === PAUSE_CAP)) this.#doubts.delete(key);
      } catch {
        // It does not answer yet.
      }
      if (isMine()) await options.clock.sleep(pause, undefined, true);
    }
  }

  /** The record that was written here, and nobody has worked on since; not one that another wrote under the same id. */
  #isOwn(found: OperationRecord, own: OperationRecord): boolean {
    const isSame = found.key === own.key && found.createdAt === own.createdAt && found.fence === own.fence;
    const isHeldByOther = found.lease !== undefined && found.lease.holder !== own.lease?.holder;
    return isSame && !isHeldByOther && ![...this.#named].some((other) => other.id === own.id && other !== own);
  }

  /** The record without the attempt that was to begin with it. */
  #unbegun(found: OperationRecord, own: OperationRecord): OperationRecord {
    if (!found.mark || !this.#isOwn(found, own)) return found;
    const at = this.#parts.options.clock.now();
    const entry = { at, ms: 0, verdict: "not_sent" };
    return transition(found, { type: "unsent", at, fence: own.fence, entry, delay: 0, hook: false });
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
