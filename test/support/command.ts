/** The `samekey` command, as a process of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expectedBin, root } from "../../scripts/entries.mjs";

export const bin = join(root, expectedBin["samekey"] ?? "");

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One that runs. */
export interface Running {
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
}

/** This process' own environment, without its databases and stores, and what `more` says. */
export function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const clean = Object.entries(process.env).filter(([name]) => !/^(PG|DATABASE_URL|SAMEKEY_)/.test(name));
  return { ...Object.fromEntries(clean), ...more };
}

/** Starts a command, in an {@link environment}. Its input is a pipe that ends: nobody is asked. */
export function start(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ""): Running {
  const child = spawn(process.execPath, [bin, ...args], { env: environment(env) });
  child.stdin.end(input);
  const ended = Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code: code as number, stdout, stderr }),
  );
  return { ended, kill: (signal) => child.kill(signal) };
}

export const samekey = (...args: readonly string[]): Promise<Ended> => start(args).ended;
