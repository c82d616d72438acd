/** Places one order, and stands still at a named point, for the test to kill it there. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import type { Point, Told } from "./told.js";

const [baseUrl = "", path = "", still = "nowhere", next = "resume"] = process.argv.slice(2);
const tell = (message: Told): void => void process.send?.(message);
/** Keeps the process alive where nothing else would. */
setInterval(() => {}, 60_000);

async function pass(point: Point): Promise<void> {
  tell({ what: "point", point });
  if (point === still) await new Promise(() => {});
}

const sdk = createSdk({
  name: "crash",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  retry: { base: "50ms", cap: "200ms", backgroundCap: "200ms" },
  operations: {
    order: post<{ order: string }, { order: string; receipt: number }>("/orders", {
      settled: async ({ state, key }) => {
        tell({ what: "hook", state, key });
        await pass("hook");
      },
    }),
  },
  // Asked once the record says "may have been sent", and before the first byte is.
  headers: async () => {
    await pass("headers");
    return { authorization: "Bearer secret" };
  },
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    const { status, headers } = response;
    const body = await response.arrayBuffer();
    await pass("answered");
    return new Response(body, { status, headers });
  },
});
sdk.on("retry", () => void pass("retry"));

if (next === "resume") await sdk.resume();
const reference = { name: "order", intent: "order-7" } as const;
// A refusal frees its intent: asking anew would be another order.
const order = (await sdk.find(reference))
  ? sdk.attach(reference)
  : sdk.operation("order", { order: "order-7" }, { intent: "order-7" });
await order.save();
await pass("saved");
const outcome = await order.outcome();
const record = await sdk.find(reference);
const data = outcome.state === "succeeded" ? outcome.result.data : undefined;
tell({ what: "done", state: outcome.state, key: record?.key, data });
await sdk.close();
process.exit(0);
