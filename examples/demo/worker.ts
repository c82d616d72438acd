/** The worker that the demo kills: finishes what its last life left, then goes on with the transfers. */

import { randomUUID } from "node:crypto";
import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { type News, planTransfers, type Transfer } from "./plan.js";

const [baseUrl = "", path = "", count = "0", shards = "1", keys = "same"] = process.argv.slice(2);
/** Resolves once the news is out of this process, so that what it tells of is not taken for told before. */
const tell = (news: News): Promise<void> =>
  new Promise((done) => process.send?.(news, undefined, undefined, () => done()));
// Should the demo itself be killed, nobody is left to talk to.
const orphaned = (): never => process.exit(1);
process.once("disconnect", orphaned);

const sdk = createSdk({
  name: "demo",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  concurrency: 8,
  // Shorter than in production, where nobody watches.
  attemptTimeout: "1s",
  retry: { base: "100ms", cap: "1s", backgroundCap: "1s" },
  operations: {
    transfer: post<Transfer, { transfer: string }>("/transfers", {
      settled: ({ intent, state }) => tell({ what: "settled", intent, state }),
    }),
  },
  fetch: keys === "new" ? withNewKeys : undefined,
});

await tell({ what: "ready" });
const resumed = sdk.resume();

// Those that an earlier life has recorded are joined by their intent: nothing is sent for what is done.
const left = planTransfers(Number(count), Number(shards)).entries();
async function work(): Promise<void> {
  for (const [number, transfer] of left)
    await sdk.operation("transfer", transfer, { intent: `transfer-${number}` }).send();
}
await Promise.all([resumed, ...Array.from({ length: 12 }, work)]);

await tell({ what: "done", counts: await sdk.counts() });
await sdk.close();
process.off("disconnect", orphaned);

/** What samekey is there to prevent: a fresh key for every attempt. */
function withNewKeys(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("idempotency-key", randomUUID());
  return fetch(input, { ...init, headers });
}
