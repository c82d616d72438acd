import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Random } from "../../examples/demo/random.js";
import type { WorkerTold } from "./protocol.js";

/** How often a worker is killed: once in about so many orders. */
const KILL_EVERY = 250;
/** The most orders that are given out and not settled, per worker. */
const UNDER_WAY = 64;

/** What is told of one look at a worker's memory, in bytes. */
export interface Memory {
  readonly worker: number;
  readonly rss: number;
  readonly heap: number;
}

export interface FleetOptions {
  /** The worker's program and its arguments. */
  readonly program: string;
  readonly args: readonly string[];
  readonly operations: number;
  readonly processes: number;
  readonly random: Random;
  readonly onProgress: (settled: number) => void;
  readonly onMemory: (memory: Memory) => void;
  /** How it is stopped before its time. */
  readonly signal: AbortSignal;
}

/**
 * Gives orders to workers, and kills them at random instants. The first is never killed, so that its memory can be
 * watched; all others are, and the orders that they had are given out again.
 */
export class Fleet {
  kills = 0;
  settled = 0;
  /** Told settled more than once: hooks are called at least once. */
  toldAgain = 0;
  /** Why orders could not be recorded at once. */
  readonly unsaved: Record<string, number> = {};
  /** In which states they settled. */
  readonly states: Record<string, number> = {};
  /** What was left in the store when the last worker ended. */
  left: Readonly<Record<string, number>> = {};
  readonly #options: FleetOptions;
  readonly #told: Uint8Array;
  readonly #again: number[] = [];
  readonly #workers = new Map<number, ChildProcess>();
  /** What each worker has been given and nobody has told to be settled. */
  readonly #given: Set<number>[];
  /** Lines with nothing to do. */
  #waiting: { readonly worker: number; readonly child: ChildProcess }[] = [];
  #next = 0;
  #nextKill: number;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#told = new Uint8Array(options.operations);
    this.#given = Array.from({ length: options.processes }, () => new Set());
    this.#nextKill = this.#drawKill();
  }

  /** Resolves when everything is settled and the workers have ended. */
  async run(): Promise<void> {
    const end = (): void => {
      for (const child of this.#workers.values()) child.kill("SIGKILL");
    };
    this.#options.signal.addEventListener("abort", end, { once: true });
    try {
      await Promise.all(this.#given.map((_, number) => this.#keep(number)));
    } finally {
      // Should one of them have failed, the others would go on for ever.
      end();
    }
    this.#options.signal.throwIfAborted();
  }

  /** Lives one life after the other, until one of them ends in peace. */
  async #keep(number: number): Promise<void> {
    while (!(await this.#live(number))) {
      if (this.#options.signal.aborted) return;
      this.kills++;
    }
  }

  async #live(number: number): Promise<boolean> {
    const child = fork(this.#options.program, this.#options.args, { execArgv: ["--expose-gc"] });
    this.#workers.set(number, child);
    child.on("message", (told: WorkerTold) => this.#hear(number, child, told));
    const [code, signal] = await once(child, "exit");
    if (signal !== "SIGKILL" && code !== 0) throw new Error(`a worker ended by itself, with ${code ?? signal}`);
    this.#waiting = this.#waiting.filter((line) => line.child !== child);
    this.#again.push(...(this.#given[number] ?? []));
    this.#given[number]?.clear();
    this.#serve();
    return signal !== "SIGKILL";
  }

  #hear(worker: number, child: ChildProcess, told: WorkerTold): void {
    if (told.what === "want") {
      this.#waiting.push({ worker, child });
      this.#serve();
    } else if (told.what === "settled") this.#settle(told.order, told.state);
    else if (told.what === "memory") this.#options.onMemory({ worker, rss: told.rss, heap: told.heap });
    else if (told.what === "unsaved") this.unsaved[told.code] = (this.unsaved[told.code] ?? 0) + 1;
    else this.left = told.counts;
  }

  /** Gives out what there is, as far as not too much is under way; at the very end, that there is nothing. */
  #serve(): void {
    const { operations, processes } = this.#options;
    const over = (): boolean => this.settled === operations;
    const room = (): boolean =>
      this.#again.length > 0 || (this.#next < operations && this.#underWay() < UNDER_WAY * processes);
    while (over() || room()) {
      const line = this.#waiting.shift();
      if (!line) return;
      const order = this.#draw();
      if (order !== undefined) this.#given[line.worker]?.add(order);
      // Whoever has just been killed does not get it; it is given out again.
      if (line.child.connected) line.child.send({ order }, () => {});
    }
  }

  #underWay(): number {
    return this.#next - this.settled;
  }

  #draw(): number | undefined {
    for (let order = this.#again.pop(); order !== undefined; order = this.#again.pop()) {
      if (!this.#told[order]) return order;
    }
    return this.#next < this.#options.operations ? this.#next++ : undefined;
  }

  #settle(order: number, state: string): void {
    if (this.#told[order]) this.toldAgain++;
    else {
      this.#told[order] = 1;
      this.settled++;
      this.states[state] = (this.states[state] ?? 0) + 1;
      for (const given of this.#given) given.delete(order);
    }
    if (this.settled >= this.#nextKill) this.#kill();
    this.#options.onProgress(this.settled);
    this.#serve();
  }

  #kill(): void {
    const { random, processes, operations } = this.#options;
    this.#nextKill = this.settled + this.#drawKill();
    if (this.settled === operations) return;
    const victim = this.#workers.get(1 + Math.floor(random() * (processes - 1)));
    // Not where the news of a settled order always leaves it.
    setTimeout(() => victim?.kill("SIGKILL"), random() * 50);
  }

  #drawKill(): number {
    return Math.ceil(KILL_EVERY * (0.5 + this.#options.random()));
  }
}
