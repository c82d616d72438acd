import type { Clock } from "../store.js";
import type { Health, Origins } from "./origins.js";

/** Admits attempts: so many at once in all, and as many per origin as its health allows. First come, first served. */
export class Gate {
  readonly #origins: Origins;
  readonly #clock: Clock;
  readonly #queues = new Map<string, ((admitted: boolean) => void)[]>();
  readonly #probes = new Set<string>();
  readonly #closed = new AbortController();
  #free: number;
  /** Called when a slot has become free. */
  onLeave: () => void = () => {};

  constructor(origins: Origins, clock: Clock, concurrency: number) {
    this.#origins = origins;
    this.#clock = clock;
    this.#free = concurrency;
  }

  /** How many slots are free. */
  get free(): number {
    return this.#free;
  }

  tryEnter(origin: string): boolean {
    if (this.#free <= 0 || this.#origins.room(origin, this.#clock.now()) <= 0) return false;
    this.#free--;
    this.#origins.enter(origin);
    return true;
  }

  /**
   * Holds slots for attempts whose origins are not known yet; they leave one by one.
   *
   * @param claim - answers with the origins of those that take one
   */
  async reserve(count: number, claim: () => Promise<readonly string[]>): Promise<void> {
    this.#free -= count;
    let taken = 0;
    try {
      for (const origin of await claim()) {
        this.#origins.enter(origin);
        taken++;
      }
    } finally {
      this.#free += count - taken;
      this.#admit();
    }
  }

  /** Resolves to true once the caller has a slot, which it leaves afterwards, or to false when the sdk closes. */
  enter(origin: string): Promise<boolean> {
    if (this.#closed.signal.aborted) return Promise.resolve(false);
    if (this.tryEnter(origin)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const queue = this.#queues.get(origin) ?? [];
      this.#queues.set(origin, queue);
      queue.push(resolve);
      this.#probeLater(origin);
    });
  }

  /** @returns whether an outage of the origin begins with it */
  leave(origin: string, health: Health): boolean {
    this.#free++;
    const fails = this.#origins.leave(origin, this.#clock.now(), health);
    this.#admit();
    this.onLeave();
    return fails;
  }

  /** Turns everyone away. */
  close(): void {
    this.#closed.abort();
    for (const queue of this.#queues.values()) for (const turn of queue.splice(0)) turn(false);
  }

  #admit(): void {
    for (const [origin, queue] of this.#queues) {
      while (queue.length > 0 && this.tryEnter(origin)) queue.shift()?.(true);
      if (queue.length === 0) this.#queues.delete(origin);
      else this.#probeLater(origin);
    }
  }

  /** An open breaker admits nobody until its time has come, and nobody else would look then. */
  #probeLater(origin: string): void {
    const wait = this.#origins.wait(origin, this.#clock.now());
    if (wait === 0 || this.#probes.has(origin)) return;
    this.#probes.add(origin);
    const look = (): void => {
      this.#probes.delete(origin);
      this.#admit();
    };
    this.#clock.sleep(wait, this.#closed.signal, true).then(look, () => {});
  }
}
