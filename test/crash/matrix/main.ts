/**
 * `npm run crash`: ends a process at every fault point and at every moment that the server can see, again and again.
 *
 * `-- --trials 200` for each cell; `--point settle:before` (or `settle`) for some; `--store node:sqlite`; `--seed 7`;
 * `--jobs 2` cells at once.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PLACES } from "./cells.js";
import type { Errand } from "./errand.js";
import { type CellReport, runCell } from "./run-cell.js";

const { values: options } = parseArgs({
  options: {
    trials: { type: "string", default: "200" },
    point: { type: "string", multiple: true, default: [] },
    store: { type: "string", multiple: true, default: ["better-sqlite3"] },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
  },
});
const trials = Number(options.trials);
const isWanted = (place: string): boolean =>
  options.point.length === 0 || options.point.some((name) => place === name || place.startsWith(`${name}:`));
const places = PLACES.filter(isWanted);
if (places.length === 0) {
  console.error(`unknown point; there are: ${PLACES.join(" ")}`);
  process.exit(2);
}

const path = fileURLToPath(new URL("worker.js", import.meta.url));
const cells = options.store.flatMap((driver) => places.map((place) => ({ driver: driver as Errand["driver"], place })));
const left = cells.entries();
const reports: CellReport[] = [];
const startedAt = performance.now();
let kills = 0;

function progress(): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${reports.length} of ${cells.length} cells, ${kills} kills\x1b[K`);
}

async function work(): Promise<void> {
  for (const [index, { driver, place }] of left) {
    const seed = Number(options.seed) * 1_000 + index;
    let done = 0;
    const onTrial = (now: number): void => {
      kills += now - done;
      done = now;
      progress();
    };
    const node = process.execPath;
    reports.push(await runCell({ program: { node, path }, place, driver, trials, seed, onTrial }));
    progress();
  }
}

await Promise.all(Array.from({ length: Number(options.jobs) }, work));
if (process.stdout.isTTY) console.log("\r\x1b[K");
for (const { driver, place, kills: ended, orders, faults } of reports) {
  console.log(
    `${driver.padEnd(15)} ${place.padEnd(18)} ${String(ended).padStart(5)} kills ${String(orders).padStart(6)} orders  ${faults.length > 0 ? `${faults.length} FAULTS` : "ok"}`,
  );
  for (const fault of faults.slice(0, 10)) console.log(`    ${fault}`);
}
const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
const wrong = reports.filter(({ faults }) => faults.length > 0).length;
console.log(
  `${cells.length} cells × ${trials} trials, ${kills} kills in ${seconds} s, seed ${options.seed}: ${wrong} cells with faults`,
);
process.exitCode = wrong > 0 ? 1 : 0;
