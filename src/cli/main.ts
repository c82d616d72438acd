#!/usr/bin/env node
import { run } from "./run.js";

// Whoever reads has seen enough, as `head` has: no reason for words. The code is that of a program that SIGPIPE ends.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(141);
  throw error;
});

const code = await run(process.argv.slice(2));
// Behind all that was written. pg leaves a connection open that it had no password for, and it would hold the process.
process.stdout.write("", () => process.exit(code));
