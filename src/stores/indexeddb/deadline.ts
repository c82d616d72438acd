import type { Clock } from "../../store.js";

/** How long opening the database, and any transaction, may take, in milliseconds. */
const DEADLINE = 5_000;

/** Waits for `work` until the deadline, and then for what `onLate` makes of it. */
export async function withDeadline<T>(clock: Clock, work: Promise<T>, onLate: () => T | Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = new Promise<true>((resolve) => {
    // Rejects only by our own signal, when nobody waits for it any more.
    clock.sleep(DEADLINE, over.signal).then(
      () => resolve(true),
      () => {},
    );
  });
  try {
    const done = work.then((value) => ({ value }));
    const first = await Promise.race([done, late]);
    return first === true ? await onLate() : first.value;
  } finally {
    // Any reason, or the browser makes an error with a stack for it.
    over.abort(0);
  }
}
