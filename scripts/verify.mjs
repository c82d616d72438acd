// Everything that a change has to pass, cheapest first; the build stands before what reads it.
// `--skip a,b` leaves steps out: .ci/run has already run the tests when it comes here.
import { spawnSync } from "node:child_process";
import { root } from "./entries.mjs";

const steps = ["lint", "types", "build", "check:package", "api", "test", "check:node24"];
const at = process.argv.indexOf("--skip");
const skipped = at < 0 ? [] : (process.argv[at + 1] ?? "").split(",");

const report = [];
for (const step of steps.filter((name) => !skipped.includes(name))) {
  console.log(`\n── ${step}`);
  const started = performance.now();
  const { status } = spawnSync("npm", ["run", "--silent", step], { cwd: root, stdio: "inherit" });
  report.push(`${status === 0 ? "ok    " : "FAILED"} ${step} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) {
    process.exitCode = 1;
    break;
  }
}
console.log(`\n── verify\n${report.join("\n")}`);
