/**
 * The server half of the contract, on Postgres: `createIdempotency`, framework-neutral. Adapters have entries of their
 * own: `samekey/server/fastify`, `samekey/server/express`.
 */
export type { Answer, Disposition, HeaderInput, HeaderPair, Outcome, OutcomeKind } from "./answer.js";
export { type Contract, contractPath } from "./contract.js";
export { corsHeaders } from "./cors.js";
export { createIdempotency } from "./create.js";
export { derive, type KeySource } from "./derive.js";
export type {
  AnyDatabase,
  Connection,
  ConnectionOf,
  Database,
  QueryResult,
  ReservedConnection,
  ReservingDatabase,
  TransactionRunner,
} from "./driver.js";
export { fingerprint, type RequestParts } from "./fingerprint.js";
export type { Execution, Handler } from "./handler.js";
export type { Idempotency } from "./idempotency.js";
export type { ServerEvent, ServerEventKind } from "./observe.js";
export type { IdempotencyOptions } from "./options.js";
export type { ProblemCode } from "./problem.js";
export type { RetentionSchedule } from "./retention/schedule.js";
export type { RetentionStatus } from "./retention/status.js";
export type { RetentionOptions, RetentionReport } from "./retention.js";
export type { RouteOptions } from "./route-options.js";
export type { Fallback, RunOptions, RunRequest, Seal } from "./run-options.js";
export { contractFetch, idempotentFetch, type WebHandler, type WebOptions } from "./web.js";
