/** A machine whose clock is off: it sends what it is told to, and works on whatever it finds. */

import process from "node:process";
import pg from "pg";
import { createSdk, post } from "samekey";
import { postgresStore } from "samekey/stores/postgres";

/** What it tells: that it has opened the store, that an order has come to something. */
export type Told = { readonly what: "ready" } | { readonly what: "done"; readonly order: string };

const [url = "", baseUrl = "", name = "", offset = "0"] = process.argv.slice(2);
const { now } = Date;
Date.now = () => now() + Number(offset);
const tell = (message: Told): void => void process.send?.(message);

const pool = new pg.Pool({ connectionString: url, max: 2 });
pool.on("error", () => {});
const sdk = createSdk({
  name,
  baseUrl,
  owner: "single",
  retention: "24h",
  // Told at once, so that whoever mistakes a time acts on it at once.
  store: postgresStore({ pool, listen: () => new pg.Client({ connectionString: url }) }),
  retry: { base: "20ms", cap: "200ms", backgroundCap: "200ms" },
  operations: { order: post<{ order: string }>("/orders") },
});

process.on("message", (order: string) => {
  const sending = sdk.operation("order", { order }, { intent: order }).outcome();
  void sending.then(() => tell({ what: "done", order }));
});
sdk.start();
await sdk.counts();
tell({ what: "ready" });
