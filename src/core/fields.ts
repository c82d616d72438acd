/**
 * Copies of records, all of one shape. A record is copied at each step of its life. Spread, every place that copies gives
 * its copies a shape of their own, and after a few such steps the engine gives up and copies field by field, at fifty times
 * the cost.
 */

import type { NewRecord, OperationRecord } from "./record.js";

/** A record with every field there is, unset ones included. */
export type WholeRecord = { readonly [Field in keyof Required<OperationRecord>]: OperationRecord[Field] };

/** Of the fields that samekey knows, each; others are left behind. */
export function fieldsOf({
  v,
  id,
  key,
  keyAt,
  name,
  intent,
  owner,
  lane,
  seq,
  rev,
  origin,
  request,
  wire,
  hash,
  state,
  blockedBy,
  code,
  attempts,
  unmade,
  timeouts,
  history,
  mark,
  sentAt,
  uncertainSince,
  serverSince,
  conflictSince,
  renewed,
  createdAt,
  nextAttemptAt,
  delay,
  deadline,
  lease,
  fence,
  parked,
  response,
  resolution,
  settledAt,
  delivered,
  traceparent,
  reissueOf,
}: Partial<OperationRecord>): { [Field in keyof WholeRecord]: OperationRecord[Field] | undefined } {
  return {
    v,
    id,
    key,
    keyAt,
    name,
    intent,
    owner,
    lane,
    seq,
    rev,
    origin,
    request,
    wire,
    hash,
    state,
    blockedBy,
    code,
    attempts,
    unmade,
    timeouts,
    history,
    mark,
    sentAt,
    uncertainSince,
    serverSince,
    conflictSince,
    renewed,
    createdAt,
    nextAttemptAt,
    delay,
    deadline,
    lease,
    fence,
    parked,
    response,
    resolution,
    settledAt,
    delivered,
    traceparent,
    reissueOf,
  };
}

const COUNT: number = Object.keys(fieldsOf({})).length;

/** The record with every field there is. */
export function whole<R extends Partial<OperationRecord>>(record: R): R & WholeRecord {
  return Object.assign(fieldsOf({}), record) as unknown as R & WholeRecord;
}

/** A copy of the record with some fields changed. What a newer samekey has added to it is kept. */
export function changed<R extends NewRecord>(record: R, changes: Partial<OperationRecord>): R {
  const copy = fieldsOf(record);
  if (Object.keys(record).length !== COUNT) Object.assign(copy, record);
  return Object.assign(copy, changes) as unknown as R;
}
