import type { Clock } from "../store.js";
import type { Origins } from "./origins.js";

/** Admits attempts: so many at once in all, and as many per origin as its health allows. First come, first served. */
export class Gate {
  readonly #origins: Origins;
  readonly #clock: Clock;
  readonly #queues = new Map<string, (() => void)[]>();
  readonly #probes = new Set<string>();
  #free: number;

  constructor(origins: Origins, clock: Clock, concurrency: number) {
    this.#origins = origins;
    this.#clock = clock;
    this.#free = concurrency;
  }

  /** How many slots are free for work that is not waiting here. */
  get free(): number {
    return this.#free;
  }

  tryEnter(origin: string): boolean {
    if (this.#free <= 0 || this.#origins.room(origin, this.#clock.now()) <= 0) return false;
    this.admit(origin);
    return true;
  }

  /** Takes a slot for a record that was claimed on the strength of {@link free}. */
  admit(origin: string): void {
    this.#free--;
    this.#origins.enter(origin);
  }

  /** Resolves once an attempt may start. The caller leaves afterwards, whatever happens. */
  async enter(origin: string): Promise<void> {
    while (!this.tryEnter(origin)) {
      const queue = this.#queues.get(origin) ?? [];
      this.#queues.set(origin, queue);
      const turn = new Promise<void>((resolve) => queue.push(resolve));
      this.#probeLater(origin);
      await turn;
    }
  }

  leave(origin: string, outcome: "answered" | "failed" | "unknown"): void {
    this.#free++;
    this.#origins.leave(origin, this.#clock.now(), outcome);
    this.#admit();
  }

  /** Lets everyone look again, so that they can notice that the sdk has closed. */
  flush(): void {
    for (const queue of this.#queues.values()) for (const turn of queue.splice(0)) turn();
  }

  #admit(): void {
    let free = this.#free;
    for (const [origin, queue] of this.#queues) {
      let room = Math.min(free, this.#origins.room(origin, this.#clock.now()));
      for (; room > 0 && queue.length > 0; room--, free--) queue.shift()?.();
      if (queue.length === 0) this.#queues.delete(origin);
      else this.#probeLater(origin);
    }
  }

  /** An open breaker admits nobody until its time has come, and nobody else would look then. */
  #probeLater(origin: string): void {
    const wait = this.#origins.wait(origin, this.#clock.now());
    if (wait === 0 || this.#probes.has(origin)) return;
    this.#probes.add(origin);
    void this.#clock.sleep(wait).then(() => {
      this.#probes.delete(origin);
      this.#admit();
    });
  }
}
