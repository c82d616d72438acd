import type { Clock } from "../store.js";
import type { Platform } from "./platform-port.js";

/** Tells once that nobody waits any more; an AbortSignal would do the same at many times the cost. */
export class Ending {
  #over = false;
  readonly #listeners = new Set<() => void>();

  get over(): boolean {
    return this.#over;
  }

  /** Calls back at the end, unless the answer is called before. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  end(): void {
    this.#over = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  get unheard(): boolean {
    return this.#listeners.size === 0;
  }

  /** As the listener of a signal. */
  handleEvent(): void {
    this.end();
  }
}

/** Those who wait for something: they alone keep a process alive, and each may stop waiting when it likes. */
export class Waiting {
  readonly #clock: Clock;
  readonly #keepAlive: Platform["keepAlive"];
  readonly #aborts = new WeakMap<AbortSignal, Ending>();

  constructor(clock: Clock, { keepAlive }: Platform) {
    this.#clock = clock;
    this.#keepAlive = keepAlive;
  }

  /**
   * Waits for `work`, at most for `wait` milliseconds and until `signal` is aborted.
   *
   * @param work - is told when nobody waits for it any more
   * @param late - what is thrown when the time is over
   */
  async until<T>(
    work: (ending: Ending) => Promise<T>,
    signal: AbortSignal | undefined,
    wait: number | undefined,
    late: () => unknown,
  ): Promise<T> {
    signal?.throwIfAborted();
    const ending = new Ending();
    const release = this.#keepAlive?.();
    try {
      if (!signal && wait === undefined) return await work(ending);
      return await new Promise<T>((resolve, reject) => {
        if (signal) ending.on(this.#onAbort(signal, () => reject(signal.reason)));
        if (wait !== undefined) this.#limit(ending, wait, () => reject(late()));
        work(ending).then(resolve, reject);
      });
    } finally {
      ending.end();
      release?.();
    }
  }

  /** One listener for all who wait under a signal: Node takes more than ten for a leak, and says so. */
  #onAbort(signal: AbortSignal, listener: () => void): () => void {
    const abort = this.#aborts.get(signal) ?? new Ending();
    this.#aborts.set(signal, abort);
    signal.addEventListener("abort", abort);
    const forget = abort.on(listener);
    return () => {
      forget();
      if (abort.unheard) signal.removeEventListener("abort", abort);
    };
  }

  #limit(ending: Ending, wait: number, late: () => void): void {
    const timer = new AbortController();
    ending.on(() => timer.abort(0));
    this.#clock.sleep(wait, timer.signal, true).then(late, () => {});
  }
}
