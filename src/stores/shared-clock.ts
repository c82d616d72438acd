import type { Clock } from "../store.js";

/** How far two clocks may be apart and count as the same, in milliseconds. */
const TOLERANCE = 250;

/**
 * A machine's clock, corrected by that of the store which it shares with others: they judge each other's leases and waits
 * by it. Where the two agree nothing is corrected.
 */
export class SharedClock implements Clock {
  readonly #own: Clock;
  #skew = 0;

  constructor(own: Clock) {
    this.#own = own;
  }

  now(): number {
    return this.#own.now() + this.#skew;
  }

  sleep(ms: number, signal?: AbortSignal, background?: boolean): Promise<void> {
    return this.#own.sleep(ms, signal, background);
  }

  /** Called when the store is asked for its time; the answer is called with what it says, in milliseconds. */
  asked(): (told: number) => void {
    const asked = this.#own.now();
    return (told) => {
      const least = told - this.#own.now();
      const most = told - asked;
      // Put back between the two, our own clock cannot tell how long it took: the next answer will.
      if (!(least <= most)) return;
      if (this.#skew < least - TOLERANCE || this.#skew > most + TOLERANCE) this.#skew = Math.round((least + most) / 2);
    };
  }
}
