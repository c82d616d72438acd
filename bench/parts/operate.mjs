// A store of very many operations is looked at and pruned: how long does the event loop stand still at most?
import { join } from "node:path";
import { ask, serve } from "../support/child.mjs";
import { atMost, ms, thousands } from "../support/figures.mjs";
import { multiply } from "../support/many.mjs";
import { openSdk } from "../support/sdk.mjs";
import { transfer } from "../support/transfer.mjs";

/** The longest that users of a page or server would not notice, in milliseconds. */
const BUDGET = 50;

export async function measure({ quick, dist, home }) {
  const records = quick ? 100_000 : 1_000_000;
  const server = await serve("support/server.mjs");
  const path = join(home, "operate.sqlite");
  const baseUrl = server.said;
  await fill(dist, path, baseUrl, records);
  const done = await ask("support/operate.mjs", { dist, path, baseUrl, most: records });
  server.stop();
  return done.map(({ what, count, took, wall, cpu }) => ({
    what: `${thousands(records)} operations, ${what}: the longest pause of the event loop`,
    measured: `${ms(wall)}; by CPU ${ms(cpu)}`,
    limit: `all of it ${ms(took)}${count === undefined ? "" : `, ${thousands(count)} of them`}`,
    ...atMost(wall, BUDGET, " ms"),
  }));
}

/** Half of them over, with intents to be remembered; of the rest some over without, some waiting, some blocked. */
async function fill(dist, path, baseUrl, records) {
  const sdk = await openSdk(dist, path, { baseUrl });
  const remembered = await sdk.operation("transfer", transfer(0), { intent: "order-0" }).send();
  const over = await sdk.operation("transfer", transfer(1)).send();
  const waiting = await sdk.operation("transfer", transfer(2)).save();
  await sdk.close();
  const locked = await openSdk(dist, path, { baseUrl, headers: () => null });
  const blocked = locked.operation("transfer", transfer(3));
  await blocked.outcome();
  await locked.close();
  multiply(path, remembered.id, records * 0.5);
  multiply(path, over.id, records * 0.3);
  multiply(path, waiting.id, records * 0.15);
  multiply(path, blocked.getSnapshot().id, records * 0.05);
}
