// Looks at and prunes a store of very many operations, as an operator would, and watches its own event loop meanwhile.
import process from "node:process";
import { load } from "./build.mjs";
import { watchPauses } from "./pauses.mjs";
import { openSdk } from "./sdk.mjs";

process.once("message", async ({ dist, path, driver, baseUrl, most }) => {
  const { sqliteStore } = await load(dist);
  const sdk = await openSdk(dist, path, { baseUrl, store: sqliteStore({ path, driver }) });
  const page = async (filter) => {
    let n = 0;
    for await (const _ of sdk.list(filter)) if (++n === most) break;
    return n;
  };
  const acts = {
    opened: () => sdk.counts(),
    listed: () => page({}),
    "listed by state": () => page({ states: ["blocked", "succeeded"] }),
    "searched for what is not there": () => page({ name: "nothing" }),
    counted: () => sdk.counts({ owner: "*" }),
    found: async () => {
      for (let n = 0; n < 1000; n++) await sdk.find({ name: "transfer", intent: `order-${n * 7}` });
    },
    pruned: () => sdk.prune({ keepFor: 0, rememberIntents: "1y" }),
    forgotten: () => sdk.prune({ keepFor: 0, rememberIntents: 0 }),
    closed: () => sdk.close(),
  };
  const done = [];
  for (const [what, act] of Object.entries(acts)) {
    // One turn in between, or the act's beginning would be counted to the one before it.
    await new Promise((resolve) => setImmediate(resolve));
    const stop = watchPauses();
    const started = performance.now();
    const answer = await act();
    const took = performance.now() - started;
    const count = typeof answer === "number" ? answer : undefined;
    done.push({ what, count, took, ...stop() });
  }
  process.send({ done }, () => process.disconnect());
});
