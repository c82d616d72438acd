/** How a database keeps what is promised. Times in ms, by the database's clock. */
export interface RetentionStatus {
  /** How old a key may be and still be known, by the options. */
  readonly promised: number;
  /** How old a key may be and still be known, by what is in the database. */
  readonly kept: number;
  /** How long the oldest partition has been due to be dropped; 0 where none is. */
  readonly lag: number;
  /** Partitions whose time is yet to come. */
  readonly ahead: number;
}

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
