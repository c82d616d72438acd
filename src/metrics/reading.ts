/** A scrape waits no longer than this, ms: Prometheus gives a scrape ten seconds. */
const patience = 5_000;

/** Asks for what gauges show: once at a time, however many gauges and scrapers want to know. */
export class Reading<T> {
  readonly #source: () => Promise<T>;
  #underWay: Promise<T | undefined> | undefined;

  constructor(source: () => Promise<T>) {
    this.#source = source;
  }

  /** Undefined where it cannot be told, or not in time. */
  async read(): Promise<T | undefined> {
    // Kept until it ends, though nobody waits any more: scrapes of a database that hangs must not queue up in its pool.
    this.#underWay ??= this.#ask().finally(() => {
      this.#underWay = undefined;
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), patience);
    });
    try {
      return await Promise.race([this.#underWay, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask(): Promise<T | undefined> {
    try {
      return await this.#source();
    } catch {
      return undefined;
    }
  }
}
