// Makes programs for plain Node out of the examples: Node 20 runs no TypeScript.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { entries, importName, root } from "../scripts/entries.mjs";

/** In your own project these come from npm; here they are the sources as they stand. */
const samekey = entries.map(([subpath, sources]) => [
  importName(subpath),
  join(root, "src", sources.node ?? sources.default),
]);

export async function bundle(...sources) {
  // Below the project, so that packages are found.
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const directory = mkdtempSync(join(root, ".tmp/bundle-"));
  await build({
    entryPoints: sources,
    outdir: directory,
    entryNames: "[name]",
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    logLevel: "error",
    alias: Object.fromEntries(samekey),
  });
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
