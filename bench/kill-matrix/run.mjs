import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { commandLine } from "../../scripts/command-line.mjs";
import { root } from "../../scripts/entries.mjs";
import { build } from "../support/build.mjs";
import { locate } from "../support/chromium.mjs";
import { machine } from "../support/machine.mjs";
import { contestants } from "./contestants.mjs";
import { rows } from "./rows.mjs";
import { print, trialsOf, write } from "./table.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const usage = `npm run bench:kill-matrix -- [options]

Kills samekey and others at the same points and counts what was lost, done twice or stuck. Judges, never fails.

  --trials 200          of each cell
  --processes 25        at once, and
  --tabs 25             in each browser
  --browsers 1          at once
  --limit 60            seconds after which an operation is stuck
  --minutes 600         stops after so many
  --contestants a,b     of ${contestants.map(({ id }) => id).join()}
  --rows a,b            of ${rows.map(({ id }) => id).join()}
  --json found.json     keeps what was found there, and goes on from it
  --write               writes the table to bench/kill-matrix/README.md`;

const { values } = commandLine(usage, {
  options: {
    trials: { type: "string", default: "200" },
    tabs: { type: "string", default: "25" },
    processes: { type: "string", default: "25" },
    limit: { type: "string", default: "60" },
    browsers: { type: "string", default: "1" },
    minutes: { type: "string", default: "600" },
    contestants: { type: "string", default: contestants.map(({ id }) => id).join() },
    rows: { type: "string", default: rows.map(({ id }) => id).join() },
    json: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const chosen = (all, names) => {
  const unknown = names.split(",").filter((name) => !all.some(({ id }) => id === name));
  if (unknown.length === 0) return all.filter(({ id }) => names.split(",").includes(id));
  console.error(`unknown: ${unknown.join(", ")}. There are: ${all.map(({ id }) => id).join(", ")}`);
  process.exit(2);
};
const taking = chosen(contestants, values.contestants);
const points = chosen(rows, values.rows);
const [trials, limit] = [values.trials, values.limit].map(Number);
const sizes = { node: Number(values.processes), browser: Number(values.tabs) };

if (!existsSync(here("node_modules"))) execFileSync("npm", ["ci", "--silent"], { cwd: here("."), stdio: "inherit" });
mkdirSync(join(root, ".tmp"), { recursive: true });
const dist = mkdtempSync(join(root, ".tmp/bench-"));
const homes = mkdtempSync(join(tmpdir(), "samekey-matrix-"));
process.once("exit", () => {
  for (const directory of [dist, homes]) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

build(dist);
const chromium = await locate(dist);
if (!chromium) console.warn("contestants in browsers are left out: no Chromium (set CHROMIUM_PATH)");
const { Api } = await import("./api.mjs");
const { make, serve } = await import("./programs.mjs");
const { batch } = await import("./cell.mjs");
const { programs, files } = await make(taking, dist);
const others = ["workbox-background-sync", "@tanstack/offline-transactions", "@tanstack/db", "stripe", "ky"];
const about = machine([...others, "better-sqlite3"], import.meta.url);

/** So many batches of a cell may fail, for reasons of the bench's own. */
const PATIENCE = 3;
const deadline = Date.now() + Number(values.minutes) * 60_000;
const startedAt = Date.now();
/** What an earlier run has found is gone on with. */
const results = values.json && existsSync(values.json) ? JSON.parse(readFileSync(values.json, "utf8")).results : {};
const cells = points.flatMap((row) => taking.map((contestant) => ({ row, contestant }))).filter(fits);

function fits({ row, contestant }) {
  return (row.only ?? contestant.on) === contestant.on && (contestant.on === "node" || chromium);
}

const countOf = ({ row, contestant }) => trialsOf(results[row.id]?.[contestant.id]);

/** Always the cell with the fewest trials: whoever stops early has a whole table of fewer trials. */
async function lane(mine) {
  const api = new Api();
  const port = await api.listen();
  serve(api, files);
  const failures = new Map();
  for (let number = 0; Date.now() < deadline; number += 1_000) {
    const open = mine.filter((cell) => countOf(cell) < trials && (failures.get(cell) ?? 0) < PATIENCE);
    const [cell] = open.sort((a, b) => countOf(a) - countOf(b));
    if (!cell) break;
    const { row, contestant } = cell;
    const size = Math.min(sizes[contestant.on], trials - countOf(cell));
    const options = { contestant, row, size, number, api, port, programs, chromium, limit: limit * 1_000, homes };
    try {
      note(row, contestant, await batch(options));
    } catch (error) {
      failures.set(cell, (failures.get(cell) ?? 0) + 1);
      console.error(`${contestant.id}, ${row.id}: ${error.message}`);
    }
  }
  api.close();
}

/** Processes, and as many browsers as wanted at a time. */
function lanes() {
  const inBrowsers = taking.filter(({ on }) => on === "browser");
  const cellsOf = (some) => cells.filter(({ contestant }) => some.includes(contestant));
  const shares = Array.from({ length: Number(values.browsers) }, (_, share) =>
    cellsOf(inBrowsers.filter((_it, i) => i % Number(values.browsers) === share)),
  );
  return [cellsOf(taking.filter(({ on }) => on === "node")), ...shares];
}

function note(row, contestant, verdicts) {
  results[row.id] ??= {};
  results[row.id][contestant.id] ??= {};
  const cell = results[row.id][contestant.id];
  for (const verdict of verdicts) cell[verdict] = (cell[verdict] ?? 0) + 1;
  const told = Object.entries(cell).map(([verdict, n]) => `${n} ${verdict}`);
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1);
  const done = cells.filter((it) => countOf(it) >= trials).length;
  console.log(
    `${minutes} min · ${done} of ${cells.length} cells · ${contestant.name} · ${row.name}: ${told.join(", ")}`,
  );
  if (values.json) writeFileSync(values.json, JSON.stringify({ about, trials, results }));
}

await Promise.all(lanes().map(lane));
print(results, points, taking);
if (values.write) write(here("README.md"), results, points, taking, about);
