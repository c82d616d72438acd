import { fieldsOf, type WholeRecord } from "./fields.js";
import type { OperationRecord } from "./record.js";

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
  return fieldsOf({
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
    state: "pending",
    attempts: 0,
    timeouts: 0,
    history: [],
    createdAt: at,
    nextAttemptAt: at,
    delay: 0,
    deadline: beginning.deadline,
    fence: 0,
    delivered: false,
    traceparent: beginning.traceparent,
    reissueOf: beginning.reissueOf,
  }) as WholeRecord;
}
