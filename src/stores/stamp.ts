/** What the stores do alike, whatever they keep records in. */

import { changed } from "../core/fields.js";
import type { NewRecord, OperationRecord } from "../core/record.js";
import { hasOutcome, occupiesLane, prunableSince, scheduleOf } from "../core/record.js";
import { StoreError } from "../errors.js";
import type { Counts, InsertLimits, PageFilter, PruneQuery } from "../store.js";

/** A new record as it is stored. */
export function stampNew(given: NewRecord, seq: number, parked: boolean): OperationRecord {
  return changed(given, { seq, rev: 1, parked: parked || undefined }) as OperationRecord;
}

/** A changed record as it is stored: whatever `apply` returned, identity and order stay. */
export function stampChange(before: OperationRecord, after: OperationRecord, parked: boolean): OperationRecord {
  return changed(after, { id: before.id, seq: before.seq, rev: before.rev + 1, parked: parked || undefined });
}

/** Whether both stand in the same lane and have not ended: then `parked` carries over. */
export function keepsPlace(before: OperationRecord, after: OperationRecord): boolean {
  return occupiesLane(before) && occupiesLane(after) && before.owner === after.owner && before.lane === after.lane;
}

/** Whether the record had the front of its lane, so that leaving it lets the next one go. */
export function leadsLane(record: OperationRecord): boolean {
  return occupiesLane(record) && !record.parked;
}

/** Whether two records differ in what they are unique by: taking over an intent or a key is then refused. */
export function changesIdentity(before: OperationRecord, after: OperationRecord): boolean {
  return (
    before.owner !== after.owner ||
    before.name !== after.name ||
    before.intent !== after.intent ||
    before.origin !== after.origin ||
    before.key !== after.key
  );
}

/** Refuses a change that would take over what another record holds. */
export function taken(holder: OperationRecord | undefined): StoreError {
  const detail = `operation ${holder?.id} of the same owner already holds this intent or key`;
  return new StoreError("unavailable", { detail, record: holder });
}

/** The record with its lease over. The lease stays to be seen, of no length: it ended when it began. */
export function relieved(record: OperationRecord): OperationRecord {
  if (!record.lease) return record;
  const { holder, until, length } = record.lease;
  return changed(record, { lease: { holder, until: until - length, length: 0 } });
}

/** Who holds the record, unless its lease was ended before its time. */
export function holderOf(record: OperationRecord): string | undefined {
  return record.lease && record.lease.length > 0 ? record.lease.holder : undefined;
}

/** When the record is due, seen from `now`: a wait that began in the future is over (the clock has jumped back). */
export function dueAt(record: OperationRecord, now: number): number | undefined {
  const schedule = scheduleOf(record);
  return schedule && schedule.since > now ? now : schedule?.due;
}

/** Whether the record meets all conditions of a listing; where it begins and ends is the store's to see to. */
export function isListed(record: OperationRecord, filter: PageFilter): boolean {
  const { owner, name, intent, lane, states } = filter;
  return (
    (owner === undefined || record.owner === owner) &&
    (name === undefined || record.name === name) &&
    (intent === undefined || record.intent === intent) &&
    (lane === undefined || record.lane === lane) &&
    (states === undefined || states.includes(record.state))
  );
}

/** How many others may be pending or blocked for this one to be recorded; `undefined` where it does not matter. */
export function mostBeside(record: NewRecord, limits: InsertLimits | undefined): number | undefined {
  const { maxPending = Number.POSITIVE_INFINITY } = limits ?? {};
  return Number.isFinite(maxPending) && !hasOutcome(record) ? maxPending - 1 : undefined;
}

/** How many wait, of what was counted. */
export function waiting({ pending = 0, blocked = 0 }: Counts): number {
  return pending + blocked;
}

/** Refuses a record for which `maxPending` leaves no room. */
export function tooMany({ id }: NewRecord, limits: InsertLimits | undefined): StoreError {
  const detail = `as many are pending or blocked as \`maxPending\` allows: ${limits?.maxPending}`;
  return new StoreError("store_full", { id, detail });
}

/** Behind which place the records begin that may be pruned. */
export function pruneFrom({ after }: PruneQuery): readonly [since: number, seq: number] {
  return [(after && prunableSince(after)) ?? Number.MIN_SAFE_INTEGER, after?.seq ?? 0];
}

/** Calls `apply`, which must not wait for anything: a transaction does not outlive the call. */
export function applied<T>(apply: (record: OperationRecord) => T, record: OperationRecord): T {
  const result = apply(record);
  if (typeof (result as { then?: unknown } | undefined)?.then === "function") {
    (result as unknown as Promise<unknown>).then(undefined, () => {});
    throw new TypeError("A function given to the store returned a promise; it must be synchronous");
  }
  return result;
}
