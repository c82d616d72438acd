import { type WholeRecord, whole } from "./fields.js";
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
  return Object.assign(whole(beginning), {
    v: 1 as const,
    keyAt: at,
    seq: 0,
    rev: 0,
    state: "pending" as const,
    attempts: 0,
    timeouts: 0,
    history: [],
    createdAt: at,
    nextAttemptAt: at,
    delay: 0,
    fence: 0,
    delivered: false,
  }) as WholeRecord;
}
