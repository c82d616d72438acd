// Builds the server and starts it.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "../bundle.js";

const { directory, remove } = await bundle(fileURLToPath(new URL("server.ts", import.meta.url)));
process.once("exit", remove);
await import(join(directory, "server.js"));
// It is loaded: a server that is killed leaves nothing behind.
remove();
