import { decode } from "../core/body.js";
import { hasOutcome, type OperationRecord, type StoredRequest, wasApplied } from "../core/record.js";
import type { Draft } from "./draft.js";
import type { Outcome } from "./result.js";

/** What a user interface shows of an operation. Frozen, and the same object until something changes. */
export interface Snapshot<Result = unknown, Failure = unknown> {
  readonly id: string | undefined;
  /** The operation's name. */
  readonly name: string | undefined;
  readonly intent: string | undefined;
  readonly state: "idle" | OperationRecord["state"];
  readonly input: unknown;
  readonly attempts: number;
  readonly nextAttemptAt: number | undefined;
  /** The browser says that it is offline, so nothing is attempted. */
  readonly offline: boolean;
  readonly mayHaveBeenApplied: boolean;
  readonly outcome?: Outcome<Result, Failure> | undefined;
}

const NONE: readonly (() => void)[] = [];

/** An operation as this process knows it: shared by all handles that joined it. */
export class Live {
  /** Absent when it was attached to, after a restart. */
  readonly draft: Draft | undefined;
  record: OperationRecord | undefined;
  /** Resolves once the record is durable. */
  saved: Promise<OperationRecord> | undefined;
  /** The record was removed: purged, or evicted with the store. */
  gone = false;
  /** Why those who wait now need not wait any longer, although the operation goes on. */
  notice: unknown;
  /** Someone called `send`: the record is to be inserted as an attempt that begins. */
  wanted = false;
  /** Settled before it was asked for: answered from the store. */
  fromStore = false;
  /** How many wait for the outcome now. */
  waiting = 0;
  /** How many need it kept up to date: those who wait or watch, and whoever drives it. */
  holds = 0;
  #listeners: readonly (() => void)[] = NONE;
  #input: unknown;

  constructor(draft?: Draft, record?: OperationRecord) {
    this.draft = draft;
    this.record = record;
  }

  get id(): string | undefined {
    return this.record?.id ?? this.draft?.id;
  }

  /** The body, whatever the caller has done to his own copy since. */
  get input(): unknown {
    const request = this.record?.request ?? this.draft?.request;
    this.#input ??= request && inputOf(request);
    return this.#input;
  }

  /** Calls back at every change, until the answer is called. */
  watch(listener: () => void): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  /** Takes over a record that was recorded earlier, or by someone else. */
  adopt(record: OperationRecord): void {
    this.record = record;
    this.fromStore = hasOutcome(record);
    this.changed();
  }

  /** Ends the waiting, not the operation. */
  tell(notice: unknown): void {
    this.notice = notice;
    this.changed();
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** What a snapshot shows of a record. */
export function createSnapshot(live: Live, offline: boolean, outcome?: Outcome): Snapshot {
  const { record, draft } = live;
  return Object.freeze({
    id: live.id,
    name: record?.name ?? draft?.operation.name,
    intent: record ? record.intent : draft?.intent,
    state: record?.state ?? "idle",
    input: live.input,
    attempts: record?.attempts ?? 0,
    nextAttemptAt: record?.state === "pending" ? record.nextAttemptAt : undefined,
    offline,
    mayHaveBeenApplied: record !== undefined && wasApplied(record) === "maybe",
    outcome,
  });
}

/** Whether two snapshots of one operation show the same. */
export function isSameSnapshot(a: Snapshot, b: Snapshot): boolean {
  const names = ["id", "state", "attempts", "nextAttemptAt", "offline", "mayHaveBeenApplied", "outcome"] as const;
  return names.every((name) => a[name] === b[name]);
}

/** The body as the caller gave it, read back from what is sent. */
function inputOf({ body, compare, contentType, sealed }: StoredRequest): unknown {
  if (!body || sealed) return undefined;
  const text = (): string => decode(body);
  if (compare === "json") return JSON.parse(text());
  // A copy: the bytes themselves are what the next attempt sends.
  return contentType?.startsWith("text/") ? text() : body.slice(0);
}
