import { statSync } from "node:fs";
import type { Memory } from "./fleet.js";

/** Milliseconds between two looks at the file. */
const LOOK = 500;

interface Sample {
  /** The part of the run that was done, from 0 to 1. */
  readonly done: number;
  /** In bytes. */
  readonly values: Readonly<Record<string, number>>;
}

/** What something was after the warm-up and at the end, in bytes. */
export interface Course {
  readonly early: number;
  readonly late: number;
}

/** Watches the first worker's memory, which is never killed, the others' and the file's size. */
export class Watch {
  /** The most that any worker held, in bytes. */
  mostRss = 0;
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #done: () => number;

  /** @param done - the part of the run that is done, from 0 to 1 */
  constructor(path: string, done: () => number) {
    this.#done = done;
    this.#timer = setInterval(() => this.#add({ db: size(path), wal: size(`${path}-wal`) }), LOOK);
  }

  readonly onMemory = ({ worker, rss, heap }: Memory): void => {
    this.mostRss = Math.max(this.mostRss, rss);
    if (worker === 0) this.#add({ rss, heap });
  };

  /**
   * The middle of what was seen in the second and in the last fifth of the run; of the heap the least, which is what is
   * kept.
   */
  course(name: "db" | "wal" | "rss" | "heap"): Course | undefined {
    const of = (from: number, to: number): number[] =>
      this.#samples.flatMap(({ done, values: { [name]: value } }) =>
        value !== undefined && done >= from && done < to ? value : [],
      );
    const [early, late] = [of(0.2, 0.4), of(0.8, 1)].map((values) => values.sort((a, b) => a - b));
    const pick = (values: number[] = []) => values[name === "heap" ? 0 : Math.floor(values.length / 2)];
    const [first, last] = [pick(early), pick(late)];
    return first === undefined || last === undefined ? undefined : { early: first, late: last };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #add(values: Sample["values"]): void {
    this.#samples.push({ done: this.#done(), values });
  }
}

function size(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
