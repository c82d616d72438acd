import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { PLACES } from "./cells.js";
import type { Driver } from "./errand.js";
import { runCell } from "./run-cell.js";
import { runRandom } from "./run-random.js";

const usage = `
Ends a process at every fault point and at every moment that the server can see, again and again, and compares.

  --trials 200             kills of each cell
  --point settle:before    these cells only; \`settle\` for all that begin so (may be repeated)
  --store better-sqlite3   or node:sqlite (may be repeated)
  --random                 at random instants instead, from outside, several processes on one file
  --processes 2            with --random, how many
  --seed 1
  --jobs 2                 cells at once`;

const repeated = { type: "string", multiple: true } as const;
const single = { type: "string" } as const;

interface Row {
  readonly name: string;
  readonly kills: number;
  readonly orders: number;
  readonly faults: readonly string[];
}

/** Runs what the command line asks for. Resolves to whether all is well. */
export async function main(worker: string, nodeOf: (driver: string) => string | undefined): Promise<boolean> {
  const { values: given } = parseArgs({
    options: {
      ...{ trials: single, seed: single, jobs: single, processes: single, point: repeated, store: repeated },
      random: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (given.help) {
    console.log(usage);
    return true;
  }
  const trials = Number(given.trials ?? 200);
  const seed = Number(given.seed ?? 1);
  const places = PLACES.filter((place) => given.point?.some((name) => `${place}:`.startsWith(`${name}:`)) ?? true);
  if (places.length === 0) throw new Error(`unknown point; there are: ${PLACES.join(" ")}`);
  const rows: Row[] = [];
  const counts = new Map<number, number>();
  const startedAt = performance.now();

  const jobs = (given.store ?? ["better-sqlite3"]).flatMap((store) => {
    const driver = store as Driver;
    const node = nodeOf(driver);
    if (!node) throw new Error(`there is no Node for ${driver} here; --store takes better-sqlite3 or node:sqlite`);
    const common = { program: { node, path: worker }, driver, trials };
    if (given.random) {
      const processes = Number(given.processes ?? 2);
      return [
        { name: `${driver} at random`, run: (more: object) => runRandom({ ...common, processes, seed, ...more }) },
      ];
    }
    return places.map((place, index) => ({
      name: `${driver} ${place}`,
      run: (more: object) => runCell({ ...common, place, seed: seed * 1_000 + index, ...more }),
    }));
  });

  function progress(): void {
    const kills = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (process.stdout.isTTY) process.stdout.write(`\r${rows.length} of ${jobs.length} cells, ${kills} kills\x1b[K`);
  }

  const left = jobs.entries();
  async function work(): Promise<void> {
    for (const [index, { name, run }] of left) {
      const onTrial = (done: number): void => {
        counts.set(index, done);
        progress();
      };
      const row = { name, ...(await run({ onTrial })) };
      rows.push(row);
      if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
      print(row);
      progress();
    }
  }
  await Promise.all(Array.from({ length: Number(given.jobs ?? availableParallelism()) }, work));

  const wrong = rows.filter(({ faults }) => faults.length > 0).length;
  const kills = rows.reduce((sum, row) => sum + row.kills, 0);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
  console.log(`${rows.length} cells, ${kills} kills in ${seconds} s, seed ${seed}: ${wrong} cells with faults`);
  return wrong === 0;
}

function print({ name, kills, orders, faults }: Row): void {
  const verdict = faults.length === 0 ? "ok" : `${faults.length} FAULTS`;
  console.log(`${name.padEnd(34)} ${String(kills).padStart(5)} kills ${String(orders).padStart(6)} orders  ${verdict}`);
  for (const fault of faults.slice(0, 10)) console.log(`    ${fault}`);
}
