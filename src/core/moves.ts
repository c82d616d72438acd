/** The steps that the events of `transition` are made of. */

import { changed } from "./fields.js";
import {
  type AttemptEntry,
  type BlockedBy,
  isUncertain,
  type OperationRecord,
  type State,
  type StoredResponse,
  windowMargin,
  windowStart,
} from "./record.js";

const HISTORY = 20;

/** How an operation ends when its time is over. */
export interface End {
  readonly state: "unresolved" | "expired";
  readonly code: "deadline" | "key_expired" | "attempts" | "expired";
}

/** Given up: with certainty it is expired, without it unresolved for the reason given. */
export function givenUp(record: OperationRecord, why: "deadline" | "key_expired" | "attempts"): End {
  return isUncertain(record) ? { state: "unresolved", code: why } : { state: "expired", code: "expired" };
}

/** Whether the time for attempts is over, and how the operation ends then. */
export function endOf(record: OperationRecord, at: number, serverAt: number | undefined): End | undefined {
  if (isUncertain(record) && !record.wire.dedupes) return givenUp(record, "attempts");
  if (windowLeft(record, at, serverAt) <= 0) return givenUp(record, "key_expired");
  return at >= (record.deadline ?? Number.POSITIVE_INFINITY) ? givenUp(record, "deadline") : undefined;
}

/** For how long the key bounds the start of attempts; nothing or less when it is over. */
export function windowLeft(record: OperationRecord, at: number, serverAt: number | undefined): number {
  const start = windowStart(record);
  if (start === undefined) return Number.POSITIVE_INFINITY;
  const margin = windowMargin(record.wire.retention);
  const length = record.wire.retention - margin;
  if (!isUncertain(record)) return start + length - at;
  const byServer = serverAt !== undefined && record.serverSince !== undefined;
  const elapsed = byServer ? serverAt - (record.serverSince ?? 0) : at - start;
  // A clock that stands before a time it has already shown cannot tell how much has passed.
  const isLost = byServer ? elapsed < -margin : at < latest(record, start) - margin;
  return isLost ? 0 : length - elapsed;
}

/** Whether an attempt that has begun may go out by now: a process may sleep for days between its mark and its first byte. */
export function isTimely(record: OperationRecord, at: number, serverAt: number | undefined): boolean {
  if (at >= (record.deadline ?? Number.POSITIVE_INFINITY)) return false;
  if (record.uncertainSince !== undefined) return windowLeft(record, at, serverAt) > 0;
  const { retention } = record.wire;
  return at - (record.sentAt ?? at) <= retention - windowMargin(retention);
}

/** The latest time that the record has seen. */
function latest(record: OperationRecord, start: number): number {
  const last = record.history.at(-1);
  return Math.max(start, last ? last.at + Math.max(last.ms, 0) : start, record.nextAttemptAt - record.delay);
}

/** Whether an attempt is under way whose end nobody has told yet. */
export function isInFlight(record: OperationRecord): boolean {
  return record.mark !== undefined && record.lease !== undefined;
}

/** Turns the mark into lasting uncertainty. */
export function doubt(record: OperationRecord): OperationRecord {
  const { mark } = record;
  if (!mark) return record;
  return changed(record, { mark: undefined, uncertainSince: Math.min(record.uncertainSince ?? mark.at, mark.at) });
}

/** The record with one more entry in its history. */
export function remember(record: OperationRecord, entry: AttemptEntry): OperationRecord {
  return changed(record, { history: [...record.history, entry].slice(-HISTORY) });
}

/** Alive, but in need of someone. */
export function block(
  record: OperationRecord,
  by: BlockedBy,
  code?: string,
  response?: StoredResponse,
): OperationRecord {
  return changed(record, { state: "blocked", blockedBy: by, code, response, lease: undefined });
}

/** Over, or given up. */
export function settle(
  record: OperationRecord,
  state: State,
  code: string | undefined,
  event: { readonly at: number; readonly hook: boolean },
  response?: StoredResponse,
): OperationRecord {
  return changed(state === "unresolved" ? doubt(record) : record, {
    state,
    code,
    blockedBy: undefined,
    mark: undefined,
    response,
    settledAt: event.at,
    delivered: !event.hook,
    // Whoever holds it goes on to call the hook; without one there is nothing left to hold.
    lease: event.hook ? record.lease : undefined,
    nextAttemptAt: event.at,
    delay: 0,
  });
}
