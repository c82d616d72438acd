import { CommanderError } from "commander";
import { MisuseError } from "../errors.js";
import { Exit } from "./exit.js";
import { explain } from "./explain.js";
import { createProgram } from "./program.js";

/** What the shell is told: done, failed, or not understood. */
const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

/**
 * Runs one command line.
 *
 * @param args - without the interpreter and the script
 * @returns the exit code
 */
export async function run(args: readonly string[]): Promise<number> {
  const program = createProgram();
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCodes.done;
  } catch (error) {
    if (error instanceof Exit) return error.exitCode;
    // Its own messages are out already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    process.stderr.write(`${explain(error, args.includes("--verbose"))}\n`);
    return error instanceof MisuseError ? exitCodes.usage : exitCodes.failed;
  }
}
