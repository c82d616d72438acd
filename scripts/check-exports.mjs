// `exports` in package.json against the sources, in both directions, and against what the build wrote.
// `--update` rewrites the field.
import { deepStrictEqual } from "node:assert";
import { existsSync, writeFileSync } from "node:fs";
import { expectedBin, expectedExports, manifest } from "./entries.mjs";

if (process.argv.includes("--update")) {
  manifest.exports = expectedExports;
  manifest.bin = expectedBin;
  writeFileSync(new URL("../package.json", import.meta.url), `${JSON.stringify(manifest, null, 2)}\n`);
  process.exit();
}

const inOrder = (exports) => Object.entries(exports).map(([subpath, to]) => [subpath, Object.entries(to)]);
try {
  deepStrictEqual(inOrder(manifest.exports), inOrder(expectedExports));
  deepStrictEqual(manifest.bin, expectedBin);
} catch {
  console.error("package.json does not match the sources (npm run exports:update); it has to hold:\n");
  console.error(JSON.stringify({ bin: expectedBin, exports: expectedExports }, null, 2));
  process.exit(1);
}

const targets = [expectedExports, expectedBin].flatMap((paths) =>
  Object.values(paths).flatMap((to) => (typeof to === "string" ? [to] : Object.values(to))),
);
const missing = targets.filter((target) => !existsSync(new URL(`../${target}`, import.meta.url)));
if (missing.length > 0) {
  console.error(`not built (npm run build): ${missing.join(", ")}`);
  process.exit(1);
}
console.log(`${Object.keys(expectedExports).length - 1} entries, ${targets.length} files`);
