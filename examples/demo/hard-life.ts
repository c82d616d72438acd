import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Counts } from "samekey";
import type { News } from "./plan.js";
import type { Random } from "./random.js";

export interface HardLifeOptions {
  /** The worker's program and its arguments. */
  readonly program: string;
  readonly args: readonly string[];
  readonly random: Random;
  /** Called when something has happened. */
  readonly onProgress: () => void;
  readonly signal: AbortSignal;
  /** How long a life lasts at least, and at most, in milliseconds; if it makes enough transfers, not so long. @defaultValue [1500, 3000] */
  readonly span?: readonly [number, number] | undefined;
}

/** Runs the worker, kills it in the middle of things, and starts it again, until one of its lives gets to the end. */
export class HardLife {
  kills = 0;
  /** Transfers of which the worker has told the outcome. */
  readonly settled = new Set<string>();
  readonly #options: HardLifeOptions;

  constructor(options: HardLifeOptions) {
    this.#options = options;
  }

  /** Resolves to how many operations stand in each state at the end. */
  async run(): Promise<Counts> {
    for (;;) {
      const counts = await this.#live();
      if (counts) return counts;
      this.kills++;
      this.#options.onProgress();
    }
  }

  /** One life. Resolves to `undefined` if it was cut short. */
  async #live(): Promise<Counts | undefined> {
    const { program, args, signal, onProgress, random, span: [least, most] = [1_500, 3_000] } = this.#options;
    signal.throwIfAborted();
    const child = fork(program, args);
    const abort = (): void => void child.kill("SIGKILL");
    signal.addEventListener("abort", abort);
    // So many transfers, and a little more, so that the blow falls anywhere.
    const limit = this.settled.size + 4 + Math.floor(random() * 11);
    let timer: NodeJS.Timeout | undefined;
    let counts: Counts | undefined;
    child.on("message", (news: News) => {
      if (news.what === "done") counts = news.counts;
      else if (news.what === "ready") timer ??= killIn(child, least + random() * (most - least));
      else if (news.intent !== undefined) this.settled.add(news.intent);
      if (counts) clearTimeout(timer);
      else if (this.settled.size === limit) killIn(child, random() * 60);
      onProgress();
    });
    const [code, how] = await once(child, "exit");
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    signal.throwIfAborted();
    if (how === "SIGKILL") return undefined;
    if (code !== 0 || !counts) throw new Error(`the worker ended by itself, with ${code ?? how}`);
    return counts;
  }
}

function killIn(child: ChildProcess, ms: number): NodeJS.Timeout {
  return setTimeout(() => child.kill("SIGKILL"), ms);
}
