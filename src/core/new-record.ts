import type { OperationRecord, WholeRecord } from "./record.js";

/** What an operation begins with. */
export type Beginning = Pick<
  OperationRecord,
  | "id"
  | "key"
  | "name"
  | "intent"
  | "owner"
  | "lane"
  | "origin"
  | "request"
  | "wire"
  | "deadline"
  | "traceparent"
  | "reissueOf"
>;

/** An operation that is due at once, and nobody has worked on. A store gives it its `seq`. */
export function newRecord(beginning: Beginning, at: number): WholeRecord {
  // All at once: it is cheaper than to make it whole afterwards.
  return {
    v: 1,
    id: beginning.id,
    key: beginning.key,
    keyAt: at,
    name: beginning.name,
    intent: beginning.intent,
    owner: beginning.owner,
    lane: beginning.lane,
    seq: 0,
    rev: 0,
    origin: beginning.origin,
    request: beginning.request,
    wire: beginning.wire,
    hash: undefined,
    state: "pending",
    blockedBy: undefined,
    code: undefined,
    attempts: 0,
    unmade: undefined,
    timeouts: 0,
    history: [],
    mark: undefined,
    sentAt: undefined,
    uncertainSince: undefined,
    serverSince: undefined,
    conflictSince: undefined,
    renewed: undefined,
    createdAt: at,
    nextAttemptAt: at,
    delay: 0,
    deadline: beginning.deadline,
    lease: undefined,
    fence: 0,
    parked: undefined,
    response: undefined,
    resolution: undefined,
    settledAt: undefined,
    delivered: false,
    traceparent: beginning.traceparent,
    reissueOf: beginning.reissueOf,
  };
}
