/** One life: finishes what the last one left, then places orders; ends at a point where it is told to. */

import { writeSync } from "node:fs";
import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { type FaultPoint, onFaultPoint } from "../../../src/core/fault-point.js";
import type { Errand, Order, Told } from "./errand.js";

const errand: Errand = JSON.parse(process.argv[2] ?? "");
// Not by IPC, which may keep something back: what was told before it is killed has to be known.
const tell = (told: Told): void => void writeSync(1, `${JSON.stringify(told)}\n`);

const hits: Partial<Record<FaultPoint, number>> = {};
onFaultPoint((point) => {
  hits[point] = (hits[point] ?? 0) + 1;
  if (point === errand.end?.point && hits[point] === errand.end.hit) process.kill(process.pid, "SIGKILL");
});

interface Body {
  readonly order: string;
  readonly kind: Order["kind"];
  readonly filling: string;
}

const sdk = createSdk({
  name: "crash",
  baseUrl: errand.url,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path: errand.path, driver: errand.driver }),
  retry: { base: 5, cap: 20, backgroundCap: 20 },
  operations: {
    order: post<Body, { order: string }>(({ order }) => `/orders/${order}`, {
      settled: ({ intent = "", key, state }) => tell({ what: "hook", order: intent, key, state }),
    }),
  },
});

const bodyOf = ({ order, kind }: Order): Body => ({
  order,
  kind,
  filling: kind === "large" ? "x".repeat(300_000) : "",
});

async function place(order: Order): Promise<void> {
  const intent = order.order;
  const operation = sdk.operation("order", bodyOf(order), { intent });
  if (order.saved) tell({ what: "saved", order: intent, key: (await operation.save()).key });
  const { state } = await operation.outcome();
  tell({ what: "outcome", order: intent, key: (await operation.save()).key, state });
}

async function finish(order: Order): Promise<void> {
  const intent = order.order;
  const found = await sdk.find({ name: "order", intent });
  // A refusal frees its intent: asking anew would be another order.
  if (!found) return place(order);
  const { state } = await sdk.attach(found.id).outcome();
  tell({ what: "outcome", order: intent, key: (await sdk.get(found.id))?.key, state });
}

if (errand.recovery === "resume") await sdk.resume();
if (errand.recovery === "start") sdk.start();
await Promise.all(errand.left.map(finish));
tell({ what: "recovered" });
await Promise.all(errand.orders.map(place));
await sdk.resume();
const counts = await sdk.counts();
await sdk.close();
tell({ what: "done", hits, counts });
