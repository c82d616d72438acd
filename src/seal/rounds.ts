/**
 * Keeps together, and in order, what was begun together. Sealing takes turns of the event loop, one longer than the other;
 * but what was recorded in one task is to share a transaction, and the order of a lane is that of the calls.
 */
export class Rounds {
  #last: Promise<unknown> = Promise.resolve();
  #open: Promise<unknown>[] | undefined;

  /** Resolves as `job` does, after those that were begun earlier and together with those that were begun beside it. */
  async join<T>(job: Promise<T>): Promise<T> {
    if (this.#open) this.#open.push(job);
    else this.#last = this.#round([job], this.#last);
    await this.#last;
    return job;
  }

  /** Whoever comes once the first is done makes a round of his own: nobody waits for ever. */
  async #round(jobs: Promise<unknown>[], last: Promise<unknown>): Promise<void> {
    this.#open = jobs;
    await Promise.allSettled([jobs[0]]);
    this.#open = undefined;
    await Promise.allSettled([last, ...jobs]);
  }
}
