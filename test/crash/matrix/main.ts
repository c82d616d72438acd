import { availableParallelism } from "node:os";
import process from "node:process";
import { commandLine } from "../../../scripts/command-line.mjs";
import { startPostgres } from "../../support/postgres.js";
import { placesOf } from "./cells.js";
import { isPostgres, STORES, type StoreName } from "./errand.js";
import { type Job, type Plan, powerLossJob, processJobs, type Row, randomJob, tabJobs } from "./jobs.js";

const usage = `npm run crash -- [options]

Ends a process at every fault point and at every moment that the server can see, again and again, and compares.

  --trials 200             kills of each cell; 20 with --tabs
  --point settle:before    these cells only; \`settle\` for all that begin so (may be repeated)
  --store better-sqlite3   or node:sqlite, postgres (through pg), postgres.js (may be repeated)
  --random                 at random instants instead, from outside, several processes on one store
  --tabs                   tabs in Chromium instead, closed and crashed, on IndexedDB
  --power-loss             and with them the power, so that what was not synced is lost (SQLite; Linux, needs gcc)
  --processes 2            with --random, how many
  --seed 1
  --jobs 2                 cells at once`;

const repeated = { type: "string", multiple: true } as const;
const single = { type: "string" } as const;
const flag = { type: "boolean" } as const;

/** What `run.js` knows and a bundle does not. */
export interface Surroundings {
  /** The program to end. */
  readonly worker: string;
  /** Source of the library that keeps what is not synced from the disk. */
  readonly powerLoss: string;
  /** The script of the page that lives in a tab. */
  readonly page: () => Promise<string>;
  readonly nodeOf: (store: StoreName) => string | undefined;
}

/** Runs what the command line asks for. Resolves to whether all is well. */
export async function main({ worker, powerLoss, page, nodeOf }: Surroundings): Promise<boolean> {
  const { values: given } = commandLine(usage, {
    options: {
      ...{ trials: single, seed: single, jobs: single, processes: single, point: repeated, store: repeated },
      ...{ random: flag, "power-loss": flag, tabs: flag },
    },
  });
  const trials = Number(given.trials ?? (given.tabs ? 20 : 200));
  const seed = Number(given.seed ?? 1);
  const processes = Number(given.processes ?? 2);
  const plan: Plan = {
    ...{ trials, seed },
    wants: (place) => given.point?.some((name) => `${place}:`.startsWith(`${name}:`)) ?? true,
  };
  const stores = (given.store ?? ["better-sqlite3"]).map(storeNamed);

  function jobsOn(store: StoreName, database: string | undefined): Job[] {
    const node = nodeOf(store);
    if (!node) throw new Error(`there is no Node for ${store} here`);
    const common = { program: { node, path: worker }, store, database, trials };
    if (given["power-loss"]) {
      if (isPostgres(store)) throw new Error("--power-loss takes the power from a file: it goes with SQLite only");
      return [powerLossJob(common, plan, processes, powerLoss)];
    }
    return given.random ? [randomJob(common, plan, processes)] : processJobs(common, plan);
  }

  const postgres = !given.tabs && stores.some(isPostgres) ? await startPostgres() : undefined;
  try {
    const jobs = given.tabs ? tabJobs(await page(), plan) : stores.flatMap((store) => jobsOn(store, postgres?.url));
    if (jobs.length === 0) throw new Error(`unknown point; there are: ${allPlaces.join(" ")}`);
    return await runAll(jobs, Number(given.jobs ?? availableParallelism()), seed);
  } finally {
    await postgres?.stop();
  }
}

const allPlaces = [...new Set([...placesOf("sqlite"), ...placesOf("postgres")])];

function storeNamed(name: string): StoreName {
  const store = STORES.find((one) => one === name);
  if (!store) throw new Error(`--store ${name} is unknown; there are: ${STORES.join(", ")}`);
  return store;
}

async function runAll(jobs: readonly Job[], atOnce: number, seed: number): Promise<boolean> {
  const rows: Row[] = [];
  const counts = new Map<number, number>();
  const startedAt = performance.now();

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
  await Promise.all(Array.from({ length: atOnce }, work));

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
