// Builds the server for plain Node and starts it: Node 20 runs no TypeScript.
import { fileURLToPath } from "node:url";
import { build } from "tsup";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../../.tmp/reference-server/build/", import.meta.url));
await build({
  config: false,
  entry: { server: `${here}server.ts` },
  outDir: out,
  format: "esm",
  target: "node20",
  silent: true,
  skipNodeModulesBundle: true,
});
await import(`${out}server.js`);
