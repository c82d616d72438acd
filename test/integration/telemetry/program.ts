/** A program that traces and counts what it does, and tells every span as it is exported, and all metrics at its end. */

import process from "node:process";
import * as api from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import client from "prom-client";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { openTelemetry, prometheus } from "samekey/telemetry";
import { type Told as Span, startTracing, told } from "../../support/tracing.js";

/** What the program tells. */
export type Told =
  | { readonly span: Span }
  | { readonly done: string; readonly metrics: string; readonly uncaught: readonly string[] };

const [mode = "", baseUrl = "", path = ""] = process.argv.slice(2);
const tell = (message: Told): void => void process.send?.(message);

const uncaught: string[] = [];
process.on("uncaughtException", ({ message }) => void uncaught.push(message));
process.on("unhandledRejection", (reason) => void uncaught.push(String(reason)));

startTracing({
  export(spans: ReadableSpan[], done) {
    for (const span of spans) tell({ span: told(span) });
    if (mode === "broken") throw new Error("the exporter is broken");
    done({ code: 0 });
  },
  shutdown: async () => {},
});

const sdk = createSdk({
  name: "traced",
  baseUrl,
  owner: () => "owner-sentinel",
  retention: "24h",
  retry: { base: 1, cap: 2 },
  store: sqliteStore({ path }),
  headers: () => ({ authorization: "Bearer credential-sentinel" }),
  operations: {
    transfer: post<{ note: string }>("/transfers?token=query-sentinel", {
      intent: "optional",
      keepHeaders: ["x-kept"],
    }),
  },
  telemetry: [openTelemetry(api), prometheus(client)],
});

let done: string;
if (mode === "resume") done = `${(await sdk.resume()).succeeded} succeeded`;
else {
  const call = { intent: "intent-sentinel", headers: { "x-kept": "kept-sentinel" } };
  const transfer = sdk.operation("transfer", { note: "body-sentinel" }, call);
  if (mode === "save") await transfer.save();
  done = await transfer.send().then(
    ({ source }) => source,
    (error: { code: string }) => error.code,
  );
}
const metrics = await client.register.metrics();
await sdk.close();
tell({ done, metrics, uncaught });
process.disconnect();
