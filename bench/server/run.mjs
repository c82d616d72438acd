import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import pg from "pg";
import { bundle } from "../../examples/bundle.js";
import { commandLine } from "../../scripts/command-line.mjs";
import { root } from "../../scripts/entries.mjs";
import { build } from "../support/build.mjs";
import { machine } from "../support/machine.mjs";
import { print, write } from "../support/report.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const usage = `npm run bench:server -- [options]

Measures samekey/server beside the same effect in a bare transaction, and beside others, on one Postgres in one run. Prints
the figures and writes them to bench/server/README.md. Judges, never fails.

  --quick   fewer turns; nothing is written`;
const { quick } = commandLine(usage, { options: { quick: { type: "boolean", default: false } } }).values;

if (!existsSync(here("node_modules"))) execFileSync("npm", ["ci", "--silent"], { cwd: here("."), stdio: "inherit" });
mkdirSync(join(root, ".tmp"), { recursive: true });
const dist = mkdtempSync(join(root, ".tmp/bench-"));
const dataDir = mkdtempSync(join(tmpdir(), "samekey-bench-"));
const programs = await bundle(here("../../examples/reference-server/embedded-postgres.ts"));
process.once("exit", () => {
  programs.remove();
  for (const directory of [dist, dataDir]) rmSync(directory, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

build(dist);
const { startEmbeddedPostgres } = await import(pathToFileURL(join(programs.directory, "embedded-postgres.js")).href);
const postgres = await startWithRoom();
const before = machine(["pg", "@node-idempotency/core", "@dbos-inc/dbos-sdk"], import.meta.url);
try {
  const { measure } = await import("./measure.mjs");
  const results = [];
  let started = performance.now();
  for await (const [name, rows] of measure({ quick, dist, url: postgres.url })) {
    const seconds = Math.round((performance.now() - started) / 1000);
    print(name, rows, seconds);
    results.push({ name, rows, seconds });
    started = performance.now();
  }
  if (!quick) write(here("README.md"), results, before, machine());
} catch (error) {
  // Not stopped in order: that would cut connections under the contestants' feet, and their complaint would hide this one.
  console.error(error);
  process.exit(1);
}
await postgres.stop();

/** All contestants stay connected; and a checkpoint in the middle of a turn would be counted against whoever has it. */
async function startWithRoom() {
  const first = await startEmbeddedPostgres({ dataDir });
  const admin = new pg.Client({ connectionString: first.url });
  await admin.connect();
  for (const setting of ["max_connections = 800", "checkpoint_timeout = '1h'", "max_wal_size = '16GB'"]) {
    await admin.query(`ALTER SYSTEM SET ${setting}`);
  }
  await admin.end();
  await first.stop();
  return startEmbeddedPostgres({ dataDir });
}
