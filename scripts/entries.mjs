// The entry points: one table that the build, the package checks and the API report all read.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** Subpath to source below `src/`. An entry is published from the day its source exists. */
const table = {
  ".": { browser: "index.browser.ts", node: "index.node.ts", default: "index.ts" },
  "./stores/memory": { default: "stores/memory.ts" },
  "./stores/indexeddb": { default: "stores/indexeddb.ts" },
  "./stores/sqlite": { default: "stores/sqlite.ts" },
  "./stores/postgres": { default: "stores/postgres.ts" },
  "./seal": { default: "seal.ts" },
  "./telemetry": { default: "telemetry.ts" },
  "./profiles": { default: "profiles/index.ts" },
  "./service-worker": { default: "service-worker.ts" },
  "./react": { default: "react.ts" },
  "./tanstack-query": { default: "tanstack-query.ts" },
  "./server": { default: "server/index.ts" },
  "./server/fastify": { default: "server/adapters/fastify.ts" },
  "./server/metrics": { default: "server/metrics.ts" },
  "./server/express": { default: "server/adapters/express.ts" },
  "./testing": { default: "testing/index.ts" },
  "./inspector": { default: "inspector.ts" },
};

/** Commands: name to source below `src/`. */
const commands = { samekey: "cli/main.ts" };

/** What tells of the commands' verbs; built, for the API report, and not exported. */
const program = "cli/program.ts";

/** Sources that are built, though nobody can import them. */
export const privateEntries = [...Object.values(commands), program];

export const hasSource = (source) => existsSync(new URL(`../src/${source}`, import.meta.url));

/** The entries whose sources exist: `[subpath, { condition: source }]`. */
export const entries = Object.entries(table).filter(([, sources]) => Object.values(sources).every(hasSource));

const built = (source, extension) => `./dist/${source.replace(/\.ts$/, extension)}`;

/** What `exports` in package.json has to be: types first, then the conditions from the narrowest to `default`. */
export const expectedExports = Object.fromEntries([
  ...entries.map(([subpath, sources]) => [
    subpath,
    {
      types: built(sources.default, ".d.ts"),
      ...Object.fromEntries(Object.entries(sources).map(([condition, source]) => [condition, built(source, ".js")])),
    },
  ]),
  ["./package.json", "./package.json"],
]);

/** What `bin` in package.json has to be. */
export const expectedBin = Object.fromEntries(
  Object.entries(commands).map(([name, source]) => [name, built(source, ".js")]),
);

export const programFile = built(program, ".js");

/** The name that a user imports. */
export const importName = (subpath) => subpath.replace(/^\./, manifest.name);
