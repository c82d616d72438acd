// The browser entry as an application bundles it: nothing of Node in it, and small.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { hasSource, root } from "./entries.mjs";

/** What a page should have to load, as the design asks. Not reached: see bench/README.md. */
const target = 15 * 1024;
/** What it may load today: lowered whenever it can be, raised only for what users gain. */
const budget = 56 * 1024;

/** `import("node:…")` behind a condition would break a bundler as well, so every kind of import counts. */
const noNode = {
  name: "no-node",
  setup({ onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path, importer }) => ({
      errors: [{ text: `the browser entry reaches ${path} through ${importer}` }],
    }));
  },
};

async function bundle(path) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from "./${path}"`, resolveDir: root },
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

const told = /at most ([\d.]+) KiB/.exec(readFileSync(`${root}docs/limits.md`, "utf8"))?.[1];
if (Number(told) * 1024 !== budget) {
  console.error(`docs/limits.md says at most ${told} KiB, and the budget is ${budget / 1024}`);
  process.exitCode = 1;
}

const { gzip, inputs } = await bundle("dist/index.browser.js");
console.log(`browser entry: ${gzip} of ${budget} bytes (min+gzip, all dependencies; the target is ${target})`);
console.log(`  minified, by package: ${byPackage(inputs).join(", ")}`);
if (gzip > budget) {
  // The chunks of the build hide where the bytes come from; the sources do not.
  const { inputs: sources } = await bundle("src/index.browser.ts");
  const heaviest = Object.entries(sources).sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput);
  for (const [path, { bytesInOutput }] of heaviest.slice(0, 20)) console.error(`  ${bytesInOutput} ${path}`);
  console.error("over the budget");
  process.exitCode = 1;
}

// Other entries that a page may load: only their freedom from `node:` is checked.
for (const name of ["index", "stores/memory", "stores/indexeddb", "seal", "telemetry", "service-worker"]) {
  if (hasSource(`${name}.ts`)) await bundle(`dist/${name}.js`);
}
