// The browser entry as an application bundles it: nothing of Node in it, and small.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { hasSource, root } from "./entries.mjs";

const budget = 15 * 1024;

/** `import("node:…")` behind a condition would break a bundler as well, so every kind of import counts. */
const noNode = {
  name: "no-node",
  setup({ onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path, importer }) => ({
      errors: [{ text: `the browser entry reaches ${path} through ${importer}` }],
    }));
  },
};

async function bundle(subpath) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from "./dist/${subpath}.js"`, resolveDir: root },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    conditions: ["browser"],
    target: "es2022",
    write: false,
    metafile: true,
    logLevel: "error",
    plugins: [noNode],
  }).catch(() => process.exit(1)); // esbuild has printed why
  const [output] = Object.values(metafile.outputs);
  return { gzip: gzipSync(outputFiles[0].contents, { level: 9 }).length, inputs: output.inputs };
}

/** Bytes (minified, before gzip) by package. */
function byPackage(inputs) {
  const sums = new Map();
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const name = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? "samekey";
    sums.set(name, (sums.get(name) ?? 0) + bytesInOutput);
  }
  return [...sums].sort(([, a], [, b]) => b - a).map(([name, bytes]) => `${name} ${bytes}`);
}

const { gzip, inputs } = await bundle("index.browser");
console.log(`browser entry: ${gzip} of ${budget} bytes (min+gzip, all dependencies)`);
console.log(`  minified, by package: ${byPackage(inputs).join(", ")}`);
if (gzip > budget) {
  console.error("over the budget");
  process.exitCode = 1;
}

// Other entries that a page may load: only their freedom from `node:` is checked.
const others = { "index.ts": "index", "stores/memory.ts": "stores/memory", "stores/indexeddb.ts": "stores/indexeddb" };
for (const [source, output] of Object.entries(others)) if (hasSource(source)) await bundle(output);
