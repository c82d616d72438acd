import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { root } from "../../scripts/entries.mjs";

/** Builds the package as it is published, but for the types, into a directory that no other build clears. */
export function build(directory) {
  const tsup = join(dirname(createRequire(import.meta.url).resolve("tsup/package.json")), "dist/cli-default.js");
  execFileSync(process.execPath, [tsup, "--no-dts", "--silent", "--out-dir", directory], {
    cwd: root,
    stdio: "inherit",
  });
}

/** The package, from such a directory. */
export async function load(directory) {
  const entry = (path) => import(pathToFileURL(join(directory, path)).href);
  const [{ createSdk, post }, { sqliteStore }] = await Promise.all([entry("index.node.js"), entry("stores/sqlite.js")]);
  return { createSdk, post, sqliteStore };
}
