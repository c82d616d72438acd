// `resume()` with very many pending: how soon it begins, and what it holds in memory while it goes on.
import { join } from "node:path";
import { load } from "../support/build.mjs";
import { ask, serve } from "../support/child.mjs";
import { atMost, median, mib, ms, quantile, thousands } from "../support/figures.mjs";
import { multiply } from "../support/many.mjs";
import { transfer } from "../support/transfer.mjs";

export async function measure({ quick, dist, home }) {
  const pending = quick ? 100_000 : 1_000_000;
  const marks = quick ? [2_000, 6_000] : [30_000, 90_000];
  const server = await serve("support/server.mjs");
  const path = join(home, "resume.sqlite");
  await fill();

  const question = { dist, path, baseUrl: server.said };
  const begun = [];
  for (let i = 0; i < (quick ? 5 : 15); i++) begun.push(await ask("support/resume.mjs", { ...question, marks: [] }));
  const drained = await ask("support/resume.mjs", { ...question, marks });
  // What bare ky holds does not depend on how long it goes on; so it need not go on as long.
  const bare = await ask("support/bare-ky.mjs", { baseUrl: server.said, marks: marks.slice(0, 1) });
  server.stop();

  const firsts = begun.map(({ first }) => first);
  const [early, late] = drained.memory;
  const [limit] = bare.memory;
  const [over, growth] = [late.rss - limit.rss, late.rss - early.rss];
  return [
    {
      what: `\`resume()\` with ${thousands(pending)} pending: first request, opening the file included`,
      measured: `${ms(median(firsts))} (${ms(quantile(firsts, 0.25))}–${ms(quantile(firsts, 0.75))})`,
      ...atMost(median(firsts), 50, " ms"),
    },
    {
      what: `memory after ${thousands(marks[1])} drained, over bare \`ky\``,
      measured: `${mib(over)} resident, ${mib(late.heap - limit.heap)} heap`,
      limit: `bare \`ky\` ${mib(limit.rss)} resident, ${mib(limit.heap)} heap`,
      ...atMost(over / 2 ** 20, 16, " MiB"),
    },
    {
      what: `growth from ${thousands(marks[0])} to ${thousands(marks[1])} drained`,
      measured: `${mib(growth)} resident, ${mib(late.heap - early.heap)} heap`,
      // Resident memory moves by this much when nothing is kept: pages that the allocator has not given back.
      ...atMost(growth / 2 ** 20, 2, " MiB"),
    },
  ];

  async function fill() {
    const { createSdk, post, sqliteStore } = await load(dist);
    const sdk = createSdk({
      name: "bench",
      baseUrl: server.said,
      owner: "single",
      retention: "24h",
      store: sqliteStore({ path }),
      operations: { transfer: post("/transfers") },
    });
    const { id } = await sdk.operation("transfer", transfer(0)).save();
    await sdk.close();
    multiply(path, id, pending - 1);
  }
}
