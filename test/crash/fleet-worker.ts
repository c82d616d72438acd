/** One of several workers on one file: records its share of the orders and finishes whatever it finds. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";

/** What it tells. */
export type FleetTold = { readonly what: "recorded" } | { readonly what: "settled"; readonly order: string };

const [baseUrl = "", path = "", first = "0", lines = "0", each = "0"] = process.argv.slice(2);
const tell = (message: FleetTold): void => void process.send?.(message);

const sdk = createSdk({
  name: "fleet",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  retry: { base: "20ms", cap: "200ms", backgroundCap: "200ms" },
  operations: {
    order: post<{ order: string }>("/orders", {
      settled: ({ intent, state }) => {
        if (state === "succeeded" && intent) tell({ what: "settled", order: intent });
      },
    }),
  },
});

/** One after the other, half of them left for whoever comes by. */
async function line(number: number): Promise<void> {
  for (let index = 0; index < Number(each); index++) {
    const order = `${number}/${index}`;
    const operation = sdk.operation("order", { order }, { intent: order });
    await (index % 2 === 0 ? operation.save() : operation.send());
  }
}

sdk.start();
await Promise.all(Array.from({ length: Number(lines) }, (_, index) => line(Number(first) + index)));
tell({ what: "recorded" });
// The parent ends it once nothing is left.
process.once("SIGTERM", () => void sdk.close().then(() => process.exit(0)));
setInterval(() => {}, 60_000);
