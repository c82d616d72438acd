import type { Clock } from "../store.js";

const SLICE = 3_600_000;

/** Those who wait for something: they alone keep a process alive, and each may stop waiting when it likes. */
export class Waiting {
  readonly #clock: Clock;
  #count = 0;
  #over = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for `work`, at most for `wait` milliseconds and until `signal` is aborted.
   *
   * @param work - gets a signal that is aborted once nobody waits for it any more
   * @param late - what is thrown when the time is over
   */
  async until<T>(
    work: (ended: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
    wait: number | undefined,
    late: () => unknown,
  ): Promise<T> {
    signal?.throwIfAborted();
    const ended = new AbortController();
    if (this.#count++ === 0) void this.#stayAlive();
    try {
      return await new Promise<T>((resolve, reject) => {
        const abort = (): void => reject(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
        ended.signal.addEventListener("abort", () => signal?.removeEventListener("abort", abort), { once: true });
        if (wait !== undefined)
          this.#clock.sleep(wait, ended.signal, true).then(
            () => reject(late()),
            () => {},
          );
        work(ended.signal).then(resolve, reject);
      });
    } finally {
      ended.abort();
      if (--this.#count === 0) this.#over.abort();
    }
  }

  /** The only timer that keeps a process alive, in slices that no timer's range can overflow. */
  async #stayAlive(): Promise<void> {
    this.#over = new AbortController();
    const { signal } = this.#over;
    while (!signal.aborted) await this.#clock.sleep(SLICE, signal).catch(() => {});
  }
}
