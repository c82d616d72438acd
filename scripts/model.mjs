// Runs the model from the command line: Node 20 runs no TypeScript.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "../examples/bundle.js";
import { root } from "./entries.mjs";

const { directory, remove } = await bundle(join(root, "test/model/cli.ts"));
process.on("exit", remove);
await import(pathToFileURL(join(directory, "cli.js")).href);
