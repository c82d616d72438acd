import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Errand, Told } from "./errand.js";

/** The program under test, and what runs it. */
export interface Program {
  readonly node: string;
  readonly path: string;
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

/** After so many milliseconds it hangs. */
const PATIENCE = 120_000;

/** Lets the program live once. `ended` rejects when it fails, or hangs. */
export function live({ node, path }: Program, errand: Errand): Life {
  const child = spawn(node, ["--disable-warning=ExperimentalWarning", path, JSON.stringify(errand)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const told: Told[] = [];
  const lines = createInterface({ input: child.stdout }).on("line", (line) => told.push(JSON.parse(line)));
  const began = Promise.race([once(lines, "line"), once(child, "close")]);
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    child.kill("SIGKILL");
  }, PATIENCE);
  const ended = once(child, "close").then(([code, signal]): Ending => {
    clearTimeout(timer);
    if (hangs) throw new Error(`it hangs; told was ${JSON.stringify(told)}\n${complaints}`);
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
