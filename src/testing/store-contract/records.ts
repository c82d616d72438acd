import type { AttemptEntry, NewRecord, OperationRecord } from "../../core/record.js";

/** The time at which the records of the contract are made. */
export const T0 = 1_767_225_600_000;

let made = 0;

/** A valid record that no other has anything in common with by which records are unique. Due at once. */
export function newRecord(change: Partial<NewRecord> = {}): NewRecord {
  made += 1;
  const tail = made.toString(16).padStart(12, "0");
  const key = change.key ?? `01890000-0000-7000-9000-${tail}`;
  return {
    v: 1,
    id: `01890000-0000-7000-8000-${tail}`,
    key,
    keyAt: T0,
    name: "transfer",
    owner: "ada",
    origin: "https://api.example.com",
    request: {
      method: "POST",
      url: "https://api.example.com/transfers",
      headers: { accept: "application/json" },
      dropped: ["authorization"],
      body: bytes('{"src":8842,"dst":1190,"amount":2500}'),
      contentType: "application/json",
      compare: "json",
    },
    wire: {
      place: "header",
      name: "idempotency-key",
      value: key,
      quoted: false,
      mint: "v7",
      retention: 86_400_000,
      redirect: "manual",
      dedupes: true,
    },
    state: "pending",
    attempts: 0,
    timeouts: 0,
    history: [],
    createdAt: T0,
    nextAttemptAt: T0,
    delay: 0,
    fence: 0,
    delivered: false,
    ...change,
  };
}

/** UTF-8 bytes. */
export function bytes(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer;
}

/** Claimed by `holder` from `at` on. */
export function leased(record: OperationRecord, holder: string, at: number, length = 30_000): OperationRecord {
  return { ...record, fence: record.fence + 1, lease: { holder, until: at + length, length } };
}

/** Claimed, with an attempt that may be under way. */
export function marked(record: OperationRecord, at: number): OperationRecord {
  const attempts = record.attempts + 1;
  return { ...leased(record, "tab-1", at), attempts, mark: { at, attempt: attempts }, sentAt: record.sentAt ?? at };
}

/** Answered with 201 and over, its hook included. */
export function succeeded(record: OperationRecord, at: number, body = '{"id":"tr_1"}'): OperationRecord {
  const entry: AttemptEntry = { at, ms: 12, verdict: "succeeded", status: 201 };
  return {
    ...record,
    state: "succeeded",
    history: [...record.history, entry],
    mark: undefined,
    lease: undefined,
    response: {
      status: 201,
      headers: { "content-type": "application/json" },
      body: bytes(body),
      replayed: false,
    },
    settledAt: at,
    delivered: true,
  };
}

/** Refused and over. */
export function rejected(record: OperationRecord, at: number): OperationRecord {
  return { ...record, state: "rejected", code: "rejected", mark: undefined, lease: undefined, settledAt: at };
}

/** Given up with its outcome unknown. */
export function unresolved(record: OperationRecord, at: number): OperationRecord {
  return {
    ...record,
    state: "unresolved",
    code: "attempts",
    mark: undefined,
    lease: undefined,
    sentAt: at,
    uncertainSince: at,
    settledAt: at,
  };
}

/** Given up by someone who said so. */
export function discarded(record: OperationRecord, at: number): OperationRecord {
  return { ...record, resolution: { how: "discarded", reason: "looked it up", at } };
}

/** To be tried again after `delay`. */
export function postponed(record: OperationRecord, at: number, delay: number): OperationRecord {
  return { ...record, lease: undefined, mark: undefined, nextAttemptAt: at + delay, delay };
}

/** Alive, and in need of someone. */
export function blocked(record: OperationRecord): OperationRecord {
  return { ...record, state: "blocked", blockedBy: "refused", lease: undefined, mark: undefined };
}
