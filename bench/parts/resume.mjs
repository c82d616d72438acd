// `resume()` with very many pending: how soon it begins, and what it holds in memory while it goes on.
import { join } from "node:path";
import { ask, serve } from "../support/child.mjs";
import { atMost, median, mib, ms, quantile, thousands } from "../support/figures.mjs";
import { multiply } from "../support/many.mjs";
import { openSdk } from "../support/sdk.mjs";
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
  const bare = await ask("support/bare-ky.mjs", { baseUrl: server.said, mark: marks[0] });
  server.stop();

  const firsts = begun.map(({ first }) => first);
  const [early, late] = drained.memory;
  const over = late.rss - bare.memory.rss;
  const growth = late.rss - early.rss;
  return [
    {
      what: `\`resume()\` with ${thousands(pending)} pending: first request after the file is open`,
      measured: `${ms(median(firsts))} (${ms(quantile(firsts, 0.25))}–${ms(quantile(firsts, 0.75))}); opening ${ms(median(begun.map(({ opening }) => opening)))}`,
      limit: `first request of bare \`ky\` in a new process ${ms(bare.first)}`,
      ...atMost(median(firsts), 50, " ms"),
    },
    {
      what: `memory after ${thousands(marks[1])} drained, over bare \`ky\``,
      measured: `${mib(over)} resident, ${mib(late.heap - bare.memory.heap)} heap`,
      limit: `bare \`ky\` ${mib(bare.memory.rss)} resident, ${mib(bare.memory.heap)} heap`,
      ...atMost(over / 2 ** 20, 16, " MiB"),
    },
    {
      what: `growth from ${thousands(marks[0])} to ${thousands(marks[1])} drained`,
      measured: `${mib(growth)} resident, ${mib(late.heap - early.heap)} heap`,
      // The heap tells what is kept; resident memory also moves with what the allocator has not given back.
      budget: "none (≤ 1 MiB heap, ≤ 8 MiB resident)",
      met: late.heap - early.heap <= 2 ** 20 && growth <= 8 * 2 ** 20,
    },
  ];

  async function fill() {
    const sdk = await openSdk(dist, path, { baseUrl: server.said });
    const { id } = await sdk.operation("transfer", transfer(0)).save();
    await sdk.close();
    multiply(path, id, pending - 1);
  }
}
