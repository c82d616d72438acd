/** A worker with one transfer to make: finishes what an earlier run left, then asks for it by its intent. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import type { Told } from "./told.js";

const [baseUrl = "", path = ""] = process.argv.slice(2);
const tell = (message: Told): void => void process.send?.(message);

const sdk = createSdk({
  name: "end-to-end",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  operations: {
    transfer: post<{ src: number; dst: number; amount: number }, { transfer: string }>("/transfers"),
  },
});

tell({ what: "resumed", report: await sdk.resume() });
const transfer = sdk.operation("transfer", { src: 8842, dst: 1190, amount: 2500 }, { intent: "order-7" });
const { key, source, data } = await transfer.send();
tell({ what: "done", key, source, transfer: data.transfer });
await sdk.close();
