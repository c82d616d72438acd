// The packed tarball on Node 24, where `node:sqlite` stands in for the missing better-sqlite3.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { installPacked } from "./consumer.mjs";
import { node24 } from "./node24.mjs";

const node = node24();
if (!node) {
  console.log(`skipped: npm carries no Node 24 for ${process.platform}-${process.arch}`);
  process.exit();
}
const consumer = installPacked();
for (const file of ["consumer.mjs", "consumer.cjs"]) {
  const { status } = spawnSync(node, ["--disable-warning=ExperimentalWarning", file], {
    cwd: consumer,
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
}
rmSync(consumer, { recursive: true });
