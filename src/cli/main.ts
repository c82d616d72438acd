#!/usr/bin/env node
import { run } from "./run.js";

const code = await run(process.argv.slice(2));
// Behind all that was written. pg leaves a connection open that it had no password for, and it would hold the process.
process.stdout.write("", () => process.exit(code));
