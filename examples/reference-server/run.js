// Builds the server for plain Node and starts it: Node 20 runs no TypeScript.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "tsup";

const here = fileURLToPath(new URL(".", import.meta.url));
const tmp = fileURLToPath(new URL("../../.tmp/", import.meta.url));
await mkdir(tmp, { recursive: true });
// A directory of its own: servers may start at the same time.
const out = await mkdtemp(`${tmp}reference-server-build-`);
try {
  await build({
    config: false,
    entry: { server: `${here}server.ts` },
    outDir: out,
    format: "esm",
    target: "node20",
    skipNodeModulesBundle: true,
    silent: true,
  });
  await import(pathToFileURL(`${out}/server.js`).href);
} finally {
  await rm(out, { recursive: true, force: true });
}
