import { setInterval } from "node:timers";

/** The longest that a timer can wait, in milliseconds: it has nothing to do. */
const LONGEST = 2 ** 31 - 1;

/** One for the whole process, made once: each wait that made its own delayed the request, and then the answer. */
let timer: NodeJS.Timeout | undefined;
let waiting = 0;

/** Keeps this process alive until the answer is called; Node ends one that waits for nothing but promises. */
export function keepAlive(): () => void {
  timer ??= setInterval(() => {}, LONGEST);
  if (waiting++ === 0) timer.ref();
  return () => {
    if (--waiting === 0) timer?.unref();
  };
}
