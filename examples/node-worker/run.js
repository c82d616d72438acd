// Builds the worker and starts it.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "../bundle.js";

const { directory, remove } = await bundle(fileURLToPath(new URL("worker.ts", import.meta.url)));
process.once("exit", remove);
await import(join(directory, "worker.js"));
