// Builds the matrix and the process that it kills, and starts it.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "../../../examples/bundle.js";
import { node24 } from "../../../scripts/node24.mjs";
import { bundlePage } from "../tabs/bundle-page.js";

const sources = ["main.ts", "worker.ts"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
const { directory, remove } = await bundle(...sources);
process.once("exit", remove);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/** better-sqlite3 is installed for the Node that runs this; an older one has no `node:sqlite`. */
function nodeOf(store) {
  return store !== "node:sqlite" || process.getBuiltinModule?.("node:sqlite") ? process.execPath : node24();
}

const { main } = await import(join(directory, "main.js"));
const powerLoss = fileURLToPath(new URL("../power-loss/power-loss.c", import.meta.url));
process.exitCode = (await main({ worker: join(directory, "worker.js"), powerLoss, page: bundlePage, nodeOf })) ? 0 : 1;
