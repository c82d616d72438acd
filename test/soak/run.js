// Builds the soak, its workers and its server, and starts it.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "../../examples/bundle.js";

const sources = ["main.ts", "worker.ts", "server.ts"];
const { directory, remove } = await bundle(...sources.map((path) => fileURLToPath(new URL(path, import.meta.url))));
process.once("exit", remove);
await import(join(directory, "main.js"));
