// Measures samekey beside its physical limits, prints the figures and writes them to README.md. Judges, never fails.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../scripts/entries.mjs";
import { build } from "./support/build.mjs";
import { ask } from "./support/child.mjs";
import { machine } from "./support/machine.mjs";
import { print, write } from "./support/report.mjs";

const parts = ["save", "send", "alone", "browser", "lanes", "resume", "operate", "size"];

const words = process.argv.slice(2);
const quick = words.includes("--quick");
const json = words.includes("--json");
const named = words.filter((word) => !word.startsWith("-"));
const unknown = named.filter((name) => !parts.includes(name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}. There are: ${parts.join(", ")}; and --quick, --json`);
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
