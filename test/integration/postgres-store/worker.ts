/** One of several workers on one database: records its share of the orders and finishes whatever it finds. */

import process from "node:process";
import pg from "pg";
import { createSdk, post } from "samekey";
import { postgresStore } from "samekey/stores/postgres";

/** What it tells. */
export type Told = { readonly what: "recorded" } | { readonly what: "open"; readonly id: string };

const [url = "", baseUrl = "", name = "", first = "0", lines = "0", each = "0", how = "work"] = process.argv.slice(2);
const tell = (message: Told): void => void process.send?.(message);

const pool = new pg.Pool({ connectionString: url, max: 2 });
pool.on("error", () => {});
const sdk = createSdk({
  name,
  baseUrl,
  owner: "single",
  retention: "24h",
  store: postgresStore({ pool }),
  retry: { base: "20ms", cap: "200ms", backgroundCap: "200ms" },
  operations: { order: post<{ order: string }>("/orders") },
});

/** One after the other, half of them left for whoever comes by. */
async function line(number: number): Promise<void> {
  for (let index = 0; index < Number(each); index++) {
    const order = `${number}/${index}`;
    const operation = sdk.operation("order", { order }, { intent: order });
    await (index % 2 === 0 ? operation.save() : operation.send());
  }
}

/** Tells of its operation within a transaction, and never ends that. */
async function holdOpen(): Promise<void> {
  const tx = await pool.connect();
  await tx.query("begin");
  const { id } = await sdk.operation("order", { order: "open" }).save({ tx });
  tell({ what: "open", id });
}

/** Commits, and tells so before anyone here can have sent it. */
async function commit(): Promise<void> {
  const tx = await pool.connect();
  await tx.query("begin");
  const { id } = await sdk.operation("order", { order: "committed" }).save({ tx });
  await tx.query("commit");
  tell({ what: "open", id });
}

setInterval(() => {}, 60_000);
if (how === "hold") await holdOpen();
else if (how === "commit") await commit();
else {
  sdk.start();
  await Promise.all(Array.from({ length: Number(lines) }, (_, index) => line(Number(first) + index)));
  tell({ what: "recorded" });
}
