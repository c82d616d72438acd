/**
 * The server half of the contract, on Postgres: `createIdempotency`, framework-neutral. Adapters have entries of their
 * own: `samekey/server/fastify`.
 */
export type { Answer, Disposition, HeaderInput, HeaderPair, Outcome, OutcomeKind } from "./answer.js";
export { type Contract, contractPath } from "./contract.js";
export { corsHeaders } from "./cors.js";
export { createIdempotency } from "./create.js";
export type { Connection, ConnectionOf, Database, QueryResult } from "./driver.js";
export { fingerprint, type RequestParts } from "./fingerprint.js";
export type { Execution, Handler } from "./handler.js";
export type { Idempotency, RunRequest } from "./idempotency.js";
export type { ServerEvent, ServerEventKind } from "./observe.js";
export type { IdempotencyOptions } from "./options.js";
export type { ProblemCode } from "./problem.js";
export { contractFetch, idempotentFetch, type WebHandler, type WebOptions } from "./web.js";
