// Builds the matrix and the process that it kills, and starts it.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "../../../examples/bundle.js";

const sources = ["main.ts", "worker.ts"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
const { directory, remove } = await bundle(...sources);
process.once("exit", remove);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
await import(join(directory, "main.js"));
