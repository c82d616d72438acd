/** One of several processes on one file, whose wall clock is put by whoever started it. */

import process from "node:process";
import { createSdk, post } from "../../../src/index.node.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";

const [path = "", baseUrl = ""] = process.argv.slice(2);
const now = Date.now;
let step = 0;
Date.now = () => now() + step;

const sdk = createSdk({
  name: "stepped",
  owner: "single",
  retention: "24h",
  baseUrl,
  store: sqliteStore({ path }),
  operations: { pay: post<string>("/pay") },
});

/** What it can be told to do. */
export type Order =
  | { readonly type: "step"; readonly ms: number }
  | { readonly type: "send" | "leave"; readonly body: string }
  | { readonly type: "discard"; readonly id: string };

const told = async (order: Order): Promise<unknown> => {
  switch (order.type) {
    case "step":
      step = order.ms;
      return undefined;
    case "send":
      return (await sdk.operation("pay", order.body).send()).attempts;
    case "leave":
      await sdk.operation("pay", order.body).save();
      return sdk.start();
    case "discard":
      return sdk.discard(order.id, { reason: "it takes long" }).then(
        ({ state }) => state,
        ({ code }) => code,
      );
  }
};
process.on("message", (order: Order) => {
  void told(order).then((answer) => process.send?.({ order: order.type, answer }));
});
