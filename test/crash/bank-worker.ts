/** Makes random transfers, whatever becomes of them; finishes first what its last life left. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import type { News } from "../../examples/demo/plan.js";
import { randomTransfers, type Transfer } from "./bank-plan.js";

const [baseUrl = "", path = "", seed = "0", count = "0"] = process.argv.slice(2);
const tell = (news: News): Promise<void> =>
  new Promise((done) => process.send?.(news, undefined, undefined, () => done()));
const orphaned = (): never => process.exit(1);
process.once("disconnect", orphaned);

const sdk = createSdk({
  name: "bank",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  concurrency: 8,
  attemptTimeout: "1s",
  retry: { base: "50ms", cap: "500ms", backgroundCap: "500ms" },
  operations: {
    transfer: post<Transfer, { transfer: string }>("/transfers", {
      settled: ({ intent, state }) => tell({ what: "settled", intent, state }),
    }),
  },
});

await tell({ what: "ready" });
const resumed = sdk.resume();
const left = randomTransfers(Number(seed), Number(count)).entries();
async function work(): Promise<void> {
  for (const [number, transfer] of left) {
    const intent = String(number);
    // The intent of what was refused is free again: every life would try it anew, under another key.
    const refused = (await sdk.find({ name: "transfer", intent }))?.state === "rejected";
    if (!refused) await sdk.operation("transfer", transfer, { intent }).outcome();
  }
}
await Promise.all([resumed, ...Array.from({ length: 12 }, work)]);

await tell({ what: "done", counts: await sdk.counts() });
await sdk.close();
process.off("disconnect", orphaned);
