import type { Clock } from "../store.js";

/** Longer timers fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Real time, for a mock server that is used without a virtual clock. */
export const realClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        },
        Math.min(ms, LONGEST),
      );
      signal?.addEventListener("abort", abort, { once: true });
    }),
};
