// Compiled against the installed package by a strict program; never run.
import { createSdk, post, SamekeyError } from "samekey";
import { indexedDbStore } from "samekey/stores/indexeddb";
import { memoryStore } from "samekey/stores/memory";
import { sqliteStore } from "samekey/stores/sqlite";
import type { OpenTelemetryApi, PrometheusClient } from "samekey/telemetry";
import { openTelemetry, prometheus } from "samekey/telemetry";

interface Transfer {
  src: number;
  dst: number;
  amount: number;
}
interface Receipt {
  id: string;
}

export const stores = [memoryStore(), indexedDbStore(), sqliteStore({ path: "payments.sqlite" })];

/** Neither library is installed here: their shapes are enough. */
export const telemetry = (api: OpenTelemetryApi, client: PrometheusClient) => [openTelemetry(api), prometheus(client)];

export const sdk = createSdk({
  name: "consumer",
  baseUrl: "https://api.example.com",
  owner: "single",
  retention: "24h",
  store: memoryStore(),
  operations: { transfer: post<Transfer, Receipt>("/transfers") },
});

export async function transfer(): Promise<string> {
  try {
    const { data } = await sdk.operation("transfer", { src: 1, dst: 2, amount: 3 }, { intent: "a" }).send();
    return data.id;
  } catch (error) {
    if (error instanceof SamekeyError) return error.code;
    throw error;
  }
}

// @ts-expect-error: no such operation
sdk.operation("transfers", { src: 1, dst: 2, amount: 3 });
// @ts-expect-error: the body is required
sdk.operation("transfer");
// @ts-expect-error: the body has another type
sdk.operation("transfer", { src: "1" });
