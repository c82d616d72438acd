import type { Clock } from "../store.js";

/** The wall clock, and one timer per sleep. */
export const realClock: Clock = {
  now: () => Date.now(),
  sleep(ms, signal, background) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer: unknown = setTimeout(done, ms);
      // Only Node's timers keep a process alive.
      if (background) (timer as { unref?: () => void }).unref?.();
      signal?.addEventListener("abort", abort, { once: true });
      function done(): void {
        signal?.removeEventListener("abort", abort);
        resolve();
      }
      function abort(): void {
        clearTimeout(timer as number);
        reject(signal?.reason);
      }
    });
  },
};
