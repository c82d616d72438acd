// Builds the demo, its worker and the reference server for plain Node, and starts it: Node 20 runs no TypeScript.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { entries, importName, root } from "../../scripts/entries.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// Below the project, so that packages are found.
mkdirSync(join(root, ".tmp"), { recursive: true });
const outdir = mkdtempSync(join(root, ".tmp/demo-"));
process.once("exit", () => rmSync(outdir, { recursive: true, force: true }));

await build({
  entryPoints: [here("demo.ts"), here("worker.ts"), here("../reference-server/server.ts")],
  outdir,
  entryNames: "[name]",
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  logLevel: "error",
  // In your own project these come from npm.
  alias: Object.fromEntries(
    entries.map(([subpath, sources]) => [importName(subpath), join(root, "src", sources.node ?? sources.default)]),
  ),
});
await import(join(outdir, "demo.js"));
