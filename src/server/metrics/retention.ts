import type { RetentionStatus } from "../retention/status.js";

/** What the gauges are read from: an engine is one. */
export interface RetentionSource {
  retentionStatus(): Promise<RetentionStatus>;
}

/** A scrape waits no longer than this for a database, ms: Prometheus gives a scrape ten seconds. */
const patience = 5_000;

/** Asks one database once at a time, however many gauges and scrapers want to know. */
export class Reading {
  readonly shard: string;
  readonly #source: RetentionSource;
  #underWay: Promise<RetentionStatus | undefined> | undefined;

  constructor(source: RetentionSource, shard: string) {
    this.#source = source;
    this.shard = shard;
  }

  /** Undefined where the database cannot tell, or not in time. */
  async read(): Promise<RetentionStatus | undefined> {
    // Kept until it ends, though nobody waits any more: scrapes of a database that hangs must not queue up in its pool.
    this.#underWay ??= this.#ask().finally(() => {
      this.#underWay = undefined;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), patience);
    });
    try {
      return await Promise.race([this.#underWay, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask(): Promise<RetentionStatus | undefined> {
    try {
      return await this.#source.retentionStatus();
    } catch {
      return undefined;
    }
  }
}
