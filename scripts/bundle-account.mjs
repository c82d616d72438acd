// What the browser entry's bytes are spent on, by feature: how much smaller (min+gzip) it would be without each.
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { root } from "./entries.mjs";

/** The first that fits counts. */
const features = [
  ["`ky`", /node_modules\/ky\//],
  ["`p-retry`", /node_modules\/(p-retry|is-network-error)\//],
  ["`uuid`", /node_modules\/uuid\//],
  ["`idb-keyval`", /node_modules\/idb-keyval\//],
  ["the IndexedDB store (§7)", /src\/stores\//],
  ["errors and what they say (§2.5)", /src\/errors\.ts/],
  ["`sdk.fetch` and `wrapFetch` (§2.4)", /src\/client\/(fetch|wrap-fetch|unanswered)/],
  ["options, resolved and checked (§2.2)", /checks\.ts|client\/(options|define)|core\/durations/],
  ["profiles (§2.1)", /core\/profile/],
  ["a call made into bytes, keys and a record (§2.3)", /core\/(body|key|new-record)|client\/draft/],
  ["intents: joining, comparing, doubts (§2.3)", /core\/compare|client\/(recorder|doubts)/],
  ["the state machine (§3, §6)", /core\/(transition|answer|moves|record|decisions|reissue|backoff|random)/],
  ["what an answer means (§5)", /core\/(classify|retry-after)|client\/(verdict|result)/],
  ["one attempt (§4, §6)", /client\/(attempt|request-headers|deadlines|gate|origins|waiting)/],
  [
    "driving: claim, leases, hooks, pruning (§4, §7)",
    /client\/(worker|sleepers|drain|leases|delivery|janitor|journal|events|pages)/,
  ],
  ["owners, snapshots, the Sdk and its handles (§2.3, §2.4)", /client\/(owners|live|sdk|operator|handle|pending)/],
  ["discovery and diagnosis", /discovery|diagnosis|silence/],
  ["the browser: wake-ups, channel, Web Locks", /src\/platform\//],
];

const gzip = (text) => gzipSync(text, { level: 9 }).length;

/** The bundle's text by source file, minified but for the names that only the whole of it gives. */
async function pieces() {
  const { outputFiles } = await build({
    stdin: { contents: 'export * from "./src/index.browser.ts"', resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    minifyIdentifiers: true,
    minifySyntax: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    dropLabels: ["FAULT"],
    legalComments: "none",
    write: false,
    logLevel: "error",
  });
  const text = outputFiles[0].text.replace(/^export \{[^}]*\};$/m, "");
  const files = text.split(/^\/\/ (?=\S+\.[jt]s\n)/m).slice(1);
  return Promise.all(
    files.map(async (file) => {
      const path = file.slice(0, file.indexOf("\n"));
      const { code } = await transform(file.slice(path.length), { minifyWhitespace: true, target: "es2022" });
      return { feature: features.find(([, where]) => where.test(path))?.[0] ?? path, code };
    }),
  );
}

const all = await pieces();
const sizeOf = (some) => gzip(some.map(({ code }) => code).join(""));
const whole = sizeOf(all);
const rows = [...new Set(all.map(({ feature }) => feature))]
  .map((feature) => ({ feature, bytes: whole - sizeOf(all.filter((piece) => piece.feature !== feature)) }))
  .sort((a, b) => b.bytes - a.bytes);
console.log("| what | bytes |\n| --- | ---: |");
for (const { feature, bytes } of rows) console.log(`| ${feature} | ${bytes.toLocaleString("en-US")} |`);
// What two parts have in common is saved only by leaving out both.
const shared = whole - rows.reduce((sum, { bytes }) => sum + bytes, 0);
console.log(`| said more than once, in common | ${shared.toLocaleString("en-US")} |`);
