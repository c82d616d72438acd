import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import type { ProcessErrand, Told } from "./errand.js";

/** The program under test, and what runs it. */
export interface Program {
  readonly node: string;
  readonly path: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** How a life ended: at its point, or by coming to its end. */
export interface Ending {
  readonly killed: boolean;
  readonly told: readonly Told[];
}

export interface Life {
  /** Resolves when it begins to do something, or is gone. */
  readonly began: Promise<unknown>;
  readonly ended: Promise<Ending>;
  /** Ends it as a crash does; resolves when it is gone. */
  kill(): Promise<void>;
}

/** After so many milliseconds of silence it hangs. */
const PATIENCE = 60_000;
/** So much of what was told is shown where something goes wrong. */
const LAST = 10;

/** Lets the program live once. `ended` rejects when it fails, or hangs. */
export function live({ node, path, env }: Program, errand: ProcessErrand): Life {
  const child = spawn(node, ["--disable-warning=ExperimentalWarning", path, JSON.stringify(errand)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const told: Told[] = [];
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    child.kill("SIGKILL");
  }, PATIENCE);
  const lines = createInterface({ input: child.stdout }).on("line", (line) => {
    told.push(JSON.parse(line));
    timer.refresh();
  });
  const began = Promise.race([once(lines, "line"), once(child, "close")]);
  const ended = once(child, "close").then(([code, signal]): Ending => {
    clearTimeout(timer);
    if (hangs) throw new Error(`it hangs; the last told was ${JSON.stringify(told.slice(-LAST))}\n${complaints}`);
    if (code !== 0 && signal !== "SIGKILL") throw new Error(`it ended with ${code ?? signal}\n${complaints}`);
    return { killed: signal === "SIGKILL", told };
  });
  return {
    began,
    ended,
    kill: async () => {
      child.kill("SIGKILL");
      await ended.catch(() => {});
    },
  };
}
