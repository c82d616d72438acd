import type { Clock } from "../store.js";

/** A timer that is so late was not late: the machine was asleep, or its clock was set. */
const LATE = 1_000;

interface Deadline {
  readonly ms: number;
  readonly late: () => void;
  at: number;
}

/** The deadlines of all attempts under one timer: a timer and a signal for each would cost more than all else they do. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #pending = new Set<Deadline>();
  #waker: AbortController | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `late` once `ms` milliseconds are over, unless the answer is called before. */
  set(ms: number, late: () => void): () => void {
    const deadline = { ms, late, at: this.#clock.now() + ms };
    this.#pending.add(deadline);
    if (!this.#waker) void this.#watch();
    else if (deadline.at < this.#wakesAt) this.#waker.abort(0);
    return () => this.#pending.delete(deadline);
  }

  async #watch(): Promise<void> {
    while (this.#pending.size > 0) {
      const now = this.#clock.now();
      for (const deadline of this.#pending) {
        // A clock that was put back must not lengthen it.
        deadline.at = Math.min(deadline.at, now + deadline.ms);
        if (deadline.at > now) continue;
        this.#pending.delete(deadline);
        deadline.late();
      }
      this.#wakesAt = Math.min(...[...this.#pending].map(({ at }) => at));
      if (this.#pending.size > 0) await this.#sleep(this.#wakesAt - now);
    }
    this.#waker = undefined;
  }

  async #sleep(ms: number): Promise<void> {
    this.#waker = new AbortController();
    try {
      await this.#clock.sleep(ms, this.#waker.signal, true);
    } catch {
      // An earlier deadline has come.
      return;
    }
    const now = this.#clock.now();
    if (Math.abs(now - this.#wakesAt) < LATE) return;
    for (const deadline of this.#pending) deadline.at = now + deadline.ms;
  }
}
