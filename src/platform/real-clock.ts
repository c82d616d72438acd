import type { Clock } from "../store.js";

/** Timers take no more than 2^31 - 1 ms: a longer one would end at once. */
const LONGEST = 3_600_000;

/** The wall clock, and one timer per sleep. */
export const realClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal, background) {
    let left = ms;
    for (; left > LONGEST; left -= LONGEST) await timer(LONGEST, signal, background);
    return timer(left, signal, background);
  },
};

function timer(ms: number, signal: AbortSignal | undefined, background: boolean | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timeout: unknown = setTimeout(done, ms);
    // Only Node's timers keep a process alive.
    if (background) (timeout as { unref?: () => void }).unref?.();
    signal?.addEventListener("abort", abort, { once: true });
    function done(): void {
      signal?.removeEventListener("abort", abort);
      resolve();
    }
    function abort(): void {
      clearTimeout(timeout as number);
      reject(signal?.reason);
    }
  });
}
