import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { buildLibrary, Disk } from "../power-loss/disk.js";
import { ENDS, Tabs } from "../tabs/tabs.js";
import { PLACES, TAB_PLACES } from "./cells.js";
import type { Driver } from "./errand.js";
import { runProcesses } from "./run-cell.js";
import { runRandom } from "./run-random.js";

const usage = `
Ends a process at every fault point and at every moment that the server can see, again and again, and compares.

  --trials 200             kills of each cell; 20 with --tabs
  --point settle:before    these cells only; \`settle\` for all that begin so (may be repeated)
  --store better-sqlite3   or node:sqlite (may be repeated)
  --random                 at random instants instead, from outside, several processes on one file
  --tabs                   tabs in Chromium instead, closed and crashed, on IndexedDB
  --power-loss             and with them the power, so that what was not synced is lost (Linux, needs gcc)
  --processes 2            with --random, how many
  --seed 1
  --jobs 2                 cells at once`;

const repeated = { type: "string", multiple: true } as const;
const single = { type: "string" } as const;
const flag = { type: "boolean" } as const;

interface Row {
  readonly name: string;
  readonly kills: number;
  readonly orders: number;
  readonly faults: readonly string[];
}

interface Job {
  readonly name: string;
  run(onTrial: (done: number) => void): Promise<Row>;
}

/** What `run.js` knows and a bundle does not. */
export interface Surroundings {
  /** The program to end. */
  readonly worker: string;
  /** Source of the library that keeps what is not synced from the disk. */
  readonly powerLoss: string;
  /** The script of the page that lives in a tab. */
  readonly page: () => Promise<string>;
  readonly nodeOf: (driver: string) => string | undefined;
}

/** Runs what the command line asks for. Resolves to whether all is well. */
export async function main({ worker, powerLoss, page, nodeOf }: Surroundings): Promise<boolean> {
  const { values: given } = parseArgs({
    options: {
      ...{ trials: single, seed: single, jobs: single, processes: single, point: repeated, store: repeated },
      ...{ random: flag, "power-loss": flag, tabs: flag, help: flag },
    },
  });
  if (given.help) {
    console.log(usage);
    return true;
  }
  const trials = Number(given.trials ?? (given.tabs ? 20 : 200));
  const seed = Number(given.seed ?? 1);
  const all = given.tabs ? TAB_PLACES : PLACES;
  const places = all.filter((place) => given.point?.some((name) => `${place}:`.startsWith(`${name}:`)) ?? true);
  if (places.length === 0) throw new Error(`unknown point; there are: ${all.join(" ")}`);
  const rows: Row[] = [];
  const counts = new Map<number, number>();
  const startedAt = performance.now();

  function jobsOf(store: string): Job[] {
    const driver = store as Driver;
    const node = nodeOf(driver);
    if (!node) throw new Error(`there is no Node for ${driver} here; --store takes better-sqlite3 or node:sqlite`);
    const common = { program: { node, path: worker }, driver, trials };
    const processes = Number(given.processes ?? 2);
    if (given["power-loss"]) {
      const run = async (onTrial: (done: number) => void): Promise<Row> => {
        const directory = await mkdtemp(join(tmpdir(), "samekey-disk-"));
        try {
          const disk = new Disk(directory, buildLibrary(powerLoss, directory));
          const report = await runRandom({ ...common, processes, seed, disk, onTrial });
          return { name: `${driver} power loss, ${report.lost} writes lost`, ...report };
        } finally {
          await rm(directory, { recursive: true, force: true });
        }
      };
      return [{ name: `${driver} power loss`, run }];
    }
    if (given.random) {
      const name = `${driver} at random`;
      return [
        { name, run: async (onTrial) => ({ name, ...(await runRandom({ ...common, processes, seed, onTrial })) }) },
      ];
    }
    return places.map((place, index) => {
      const name = `${driver} ${place}`;
      const options = { ...common, place, seed: seed * 1_000 + index };
      return { name, run: async (onTrial) => ({ name, ...(await runProcesses({ ...options, onTrial })) }) };
    });
  }

  /** One tab lives at a time, so each cell has a Chromium of its own. */
  async function jobsInTabs(): Promise<Job[]> {
    const script = await page();
    return places.flatMap((place, index) =>
      ENDS.map((end): Job => {
        const name = `tab ${end} ${place}`;
        const run = async (onTrial: (done: number) => void): Promise<Row> => {
          const tabs = await Tabs.open(script);
          try {
            return { name, ...(await tabs.runCell({ place, end, trials, seed: seed * 1_000 + index, onTrial })) };
          } finally {
            await tabs.close();
          }
        };
        return { name, run };
      }),
    );
  }

  const jobs = given.tabs ? await jobsInTabs() : (given.store ?? ["better-sqlite3"]).flatMap(jobsOf);

  function progress(): void {
    const kills = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (process.stdout.isTTY) process.stdout.write(`\r${rows.length} of ${jobs.length} cells, ${kills} kills\x1b[K`);
  }

  const left = jobs.entries();
  async function work(): Promise<void> {
    for (const [index, job] of left) {
      const row = await job.run((done) => {
        counts.set(index, done);
        progress();
      });
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
  console.log(`${name.padEnd(48)} ${String(kills).padStart(5)} kills ${String(orders).padStart(6)} orders  ${verdict}`);
  for (const fault of faults.slice(0, 10)) console.log(`    ${fault}`);
}
