import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { commandLine } from "../scripts/command-line.mjs";
import { root } from "../scripts/entries.mjs";
import { build } from "./support/build.mjs";
import { ask } from "./support/child.mjs";
import { machine } from "./support/machine.mjs";
import { print, write } from "./support/report.mjs";

const parts = ["save", "send", "alone", "browser", "lanes", "resume", "operate", "size"];

const usage = `npm run bench -- [options] [part…]

Measures samekey beside its physical limits, prints the figures and writes them to bench/README.md, but for parts and a quick
look. Judges, never fails. The parts: ${parts.join(", ")}.

  --quick   fewer turns
  --json    the rows as JSON`;

const flag = { type: "boolean", default: false };
const { values, positionals: named } = commandLine(usage, {
  options: { quick: flag, json: flag },
  allowPositionals: true,
});
const { quick, json } = values;
const unknown = named.filter((name) => !parts.includes(name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}\n\n${usage}`);
  process.exit(2);
}

// The build lies below the project, so that packages are found; what is measured lies where a user's data would not.
mkdirSync(join(root, ".tmp"), { recursive: true });
const dist = mkdtempSync(join(root, ".tmp/bench-"));
const home = mkdtempSync(join(tmpdir(), "samekey-bench-"));
process.once("exit", () => {
  for (const directory of [dist, home]) rmSync(directory, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

build(dist);
const before = machine(["ky", "better-sqlite3", "idb-keyval", "playwright"]);
const results = [];
for (const name of parts.filter((part) => named.length === 0 || named.includes(part))) {
  const started = performance.now();
  const rows = await ask("part.mjs", { name, quick, dist, home }).catch((error) => [
    { what: name, measured: `could not be measured: ${error.message}` },
  ]);
  const seconds = Math.round((performance.now() - started) / 1000);
  results.push({ name, rows, seconds });
  if (!json) print(name, rows, seconds);
}
if (json) console.log(JSON.stringify(results.flatMap(({ rows }) => rows)));
// Parts, or a quick look, are not worth keeping.
if (named.length === 0 && !quick) write(join(root, "bench/README.md"), results, before, machine());
