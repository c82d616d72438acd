// On Node 24, where `node:sqlite` stands in for better-sqlite3 (whose binary here is made for the Node that npm ran on):
// the packed tarball as users get it, the store contract, several processes on one file, and the crash matrix.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installPacked } from "./consumer.mjs";
import { root } from "./entries.mjs";
import { node24 } from "./node24.mjs";

const node = node24();
if (!node) {
  console.log(`skipped: npm carries no Node 24 for ${process.platform}-${process.arch}`);
  process.exit();
}

function run(cwd, args, env = {}) {
  const flags = ["--disable-warning=ExperimentalWarning"];
  const { status } = spawnSync(node, [...flags, ...args], { cwd, env: { ...process.env, ...env }, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}

const consumer = installPacked();
run(consumer, ["consumer.mjs"]);
run(consumer, ["consumer.cjs"]);
rmSync(consumer, { recursive: true });

const vitest = join(root, "node_modules/vitest/vitest.mjs");
const levels = [
  ["contract", "-t", "through node:sqlite"],
  ["integration", ...["processes", "locks", "restored"].map((name) => `test/integration/sqlite/${name}.test.ts`)],
];
for (const [level, ...which] of levels) {
  const report = join(root, `reports/node24-${level}.json`);
  rmSync(report, { force: true });
  run(root, [vitest, "run", "--project", level, ...which], { VITEST_REPORT: report });
  if (JSON.parse(readFileSync(report, "utf8")).numPassedTests === 0) {
    console.error(`no test of ${level} ran`);
    process.exitCode = 1;
  }
}

run(root, ["test/crash/matrix/run.js", "--store", "node:sqlite", "--trials", "1"]);
