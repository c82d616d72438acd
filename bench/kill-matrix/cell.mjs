import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { judge } from "./judge.mjs";
import { BrowserMachine } from "./machines/browser.mjs";
import { NodeMachine } from "./machines/node.mjs";

const DAY = 86_400_000;
/** How long a request may take to arrive, in milliseconds; nobody is killed before. */
const ON_ITS_WAY = 90_000;

/** One batch of trials of a cell: as many clients as orders, on one machine. Resolves to a verdict for each order. */
export async function batch({ contestant, row, size, number, api, port, programs, chromium, limit, homes }) {
  const { plan = () => "none", act = (all) => all.submit(), tabs = 1, window = DAY } = row;
  const home = await mkdtemp(join(homes, "batch-"));
  const orders = Array.from({ length: size }, (_, i) => `${contestant.id}-${row.id}-${number + i}`);
  const options = { contestant, size, tabs, home, port, window };
  const machine =
    contestant.on === "node"
      ? new NodeMachine({ ...options, program: programs[contestant.id] })
      : new BrowserMachine({ ...options, chromium, origin: (i) => `http://t${i}.localhost:${port}` });
  const all = {
    machine,
    orders,
    isOffline: false,
    submit: () => machine.submit(orders),
    async arrived() {
      const until = Date.now() + ON_ITS_WAY;
      while (orders.some((order) => !api.arrivals.has(order))) {
        if (Date.now() > until) throw new Error("a request did not arrive");
        await sleep(20);
      }
    },
    async offline(isOffline) {
      all.isOffline = isOffline;
      await machine.offline(isOffline);
    },
  };
  api.window = window;
  api.onCalled = () => machine.called?.();
  for (const order of orders) api.plan(order, (arrival, since) => plan(arrival, since, all));
  try {
    await machine.start();
    await act(all);
    return await judge({ api, machine, orders, limit });
  } finally {
    await machine.kill();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}
