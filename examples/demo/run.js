// Builds the demo, its worker and the reference server, and starts it.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "../bundle.js";

const sources = ["demo.ts", "worker.ts", "../reference-server/server.ts"];
const { directory, remove } = await bundle(...sources.map((path) => fileURLToPath(new URL(path, import.meta.url))));
process.once("exit", remove);
await import(join(directory, "demo.js"));
