/** One of several workers on one file: records the orders that it is given, and finishes whatever it finds. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import type { WorkerAsked, WorkerTold } from "./protocol.js";

/** Orders under way at once. */
const LINES = 16;
/** Milliseconds between two looks at the memory. */
const LOOK = 2_000;

const [baseUrl = "", path = ""] = process.argv.slice(2);
/** Resolves once the news is out of this process: whoever is killed before has not told it. */
const tell = (news: WorkerTold): Promise<void> =>
  new Promise((done) => process.send?.(news, undefined, undefined, () => done()));
// Should the soak itself be killed, nobody is left to talk to.
process.once("disconnect", () => process.exit(1));

const sdk = createSdk({
  name: "soak",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  // So short that what is done leaves the file within the run.
  keepFor: "10s",
  rememberIntents: "20s",
  concurrency: LINES,
  attemptTimeout: "1s",
  retry: { base: "20ms", cap: "500ms", backgroundCap: "500ms" },
  operations: {
    order: post<{ order: number }>("/orders", {
      settled: ({ intent, state }) => tell({ what: "settled", order: Number(intent), state }),
    }),
  },
});

const given: ((asked: WorkerAsked) => void)[] = [];
process.on("message", (asked: WorkerAsked) => given.shift()?.(asked));

function next(): Promise<WorkerAsked> {
  return new Promise((resolve) => {
    given.push(resolve);
    void tell({ what: "want" });
  });
}

/** Waits for every other order; the rest is left for whoever comes by. */
async function line(): Promise<void> {
  for (let { order } = await next(); order !== undefined; { order } = await next()) await record(order);
}

/** Not recorded is not sent: the order is tried again until it stands. */
async function record(order: number): Promise<void> {
  const operation = sdk.operation("order", { order }, { intent: String(order) });
  try {
    await (order % 2 === 0 ? operation.send() : operation.save());
  } catch (error) {
    const { code } = error as { code?: string };
    await tell({ what: "unsaved", code: String(code ?? error) });
    await record(order);
  }
}

setInterval(() => {
  // What is garbage is not held.
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  void tell({ what: "memory", rss, heap: heapUsed + external });
}, LOOK);

sdk.start();
await Promise.all(Array.from({ length: LINES }, line));
await tell({ what: "left", counts: await sdk.counts() });
await sdk.close();
process.exit(0);
