// Builds the server for plain Node and starts it: Node 20 runs no TypeScript.
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../../.tmp/reference-server/", import.meta.url));
await mkdir(out, { recursive: true });
// Moved into place once it is complete: servers may start at the same time.
const unfinished = await mkdtemp(`${out}build-`);
await build({
  config: false,
  entry: { server: `${here}server.ts` },
  outDir: unfinished,
  format: "esm",
  target: "node20",
  skipNodeModulesBundle: true,
  silent: true,
});
await rename(`${unfinished}/server.js`, `${out}server.js`);
await rm(unfinished, { recursive: true, force: true });
await import("../../.tmp/reference-server/server.js");
