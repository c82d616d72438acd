import process from "node:process";
import { createSdk, type OperationRecord, post, type Sdk } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { telemetry } from "./metrics.js";

/** Money from one account to another, in minor units. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

const transfer = (settled: (record: OperationRecord) => unknown) =>
  post<Transfer, { transfer: string }>("/transfers", { intent: "required", settled });

/** The operations of this worker. */
export type WorkerSdk = Sdk<{ transfer: ReturnType<typeof transfer> }>;

/**
 * Makes the sdk from the environment: `API_URL`, `API_TOKEN` and `STORE`, a file (by default one in the platform's
 * state directory).
 *
 * @param settled - called at least once for every transfer with an outcome, also for those of an earlier run
 */
export function createWorkerSdk(settled: (record: OperationRecord) => unknown): WorkerSdk {
  const { API_URL, API_TOKEN, STORE } = process.env;
  return createSdk({
    name: "node-worker",
    baseUrl: API_URL,
    owner: "single",
    // What the API promises: for how long it knows a key again.
    retention: "24h",
    // Asked for before every attempt, and never written down.
    headers: () => (API_TOKEN ? { authorization: `Bearer ${API_TOKEN}` } : null),
    store: sqliteStore({ path: STORE }),
    log: ({ level, message, id }) => level !== "debug" && console.error(level, message, id ?? ""),
    operations: { transfer: transfer(settled) },
    telemetry,
  });
}
