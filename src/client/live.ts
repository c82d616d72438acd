import { hasOutcome, isUncertain, type OperationRecord } from "../core/record.js";
import type { Draft } from "./draft.js";
import type { Outcome } from "./result.js";

/** What a user interface shows of an operation. Frozen, and the same object until something changes. */
export interface Snapshot<Result = unknown, Failure = unknown> {
  readonly id: string | undefined;
  readonly state: "idle" | OperationRecord["state"];
  readonly input: unknown;
  readonly attempts: number;
  readonly nextAttemptAt: number | undefined;
  /** The browser says that it is offline, so nothing is attempted. */
  readonly offline: boolean;
  readonly mayHaveBeenApplied: boolean;
  readonly outcome?: Outcome<Result, Failure> | undefined;
}

/** An operation as this process knows it: shared by all handles that joined it. */
export class Live {
  /** Absent when it was attached to by id, after a restart. */
  readonly draft: Draft | undefined;
  record: OperationRecord | undefined;
  /** Resolves once the record is durable. */
  saved: Promise<OperationRecord> | undefined;
  /** Why nothing was recorded, or why the program cannot go on with it here. */
  fault: unknown;
  /** The head of the lane that it stands behind, if that one needs a person. */
  stuck: OperationRecord | undefined;
  /** Someone called `send`: the record is to be inserted as an attempt that begins. */
  wanted = false;
  /** Settled by an earlier run: answered from the store. */
  fromStore = false;
  /** How many wait for the outcome now. */
  waiting = 0;
  readonly #listeners = new Set<() => void>();

  constructor(draft: Draft | undefined, record?: OperationRecord) {
    this.draft = draft;
    this.record = record;
    if (record) this.saved = Promise.resolve(record);
  }

  get id(): string | undefined {
    return this.record?.id ?? this.draft?.id;
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Attached to a record that an earlier run left. */
  adopt(record: OperationRecord): void {
    this.record = record;
    this.fromStore = hasOutcome(record);
    this.changed();
  }

  /** The head of its lane may have been resolved since. */
  unstick(): void {
    this.stuck = undefined;
  }

  changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** What a snapshot shows of a record. */
export function createSnapshot(live: Live, offline: boolean, outcome: Outcome | undefined): Snapshot {
  const { record } = live;
  return Object.freeze({
    id: live.id,
    state: record?.state ?? "idle",
    input: live.draft?.input ?? (record && inputOf(record)),
    attempts: record?.attempts ?? 0,
    nextAttemptAt: record?.state === "pending" ? record.nextAttemptAt : undefined,
    offline,
    mayHaveBeenApplied: record !== undefined && record.state !== "succeeded" && isUncertain(record),
    outcome,
  });
}

/** The body as the caller gave it, read back from a record. */
export function inputOf(record: OperationRecord): unknown {
  const { body, compare, contentType } = record.request;
  if (!body) return undefined;
  if (compare === "json") return JSON.parse(new TextDecoder().decode(body));
  return contentType?.startsWith("text/") ? new TextDecoder().decode(body) : body;
}
