import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { entries, importName, root } from "../../../scripts/entries.mjs";

const samekey = entries.map(([subpath, sources]) => [
  importName(subpath),
  `${root}src/${sources.browser ?? sources.default}`,
]);

export async function bundlePage() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.ts", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["browser"],
    logLevel: "error",
    alias: Object.fromEntries(samekey),
  });
  return outputFiles[0].text;
}
