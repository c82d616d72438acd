import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import pg from "pg";
import { type Contract, createIdempotency, type Idempotency, type IdempotencyOptions } from "../../src/server/index.js";
import { createBank, WrongShard } from "./bank.js";
import { createRelay, type Relay, type RelayOptions } from "./relay.js";
import { shardOf, shardOfRequest } from "./routing.js";

/** One database: accounts, their ledger, the keys of what was done to them, and the credits that they owe others. */
export interface Shard {
  readonly pool: pg.Pool;
  readonly idempotency: Idempotency<pg.PoolClient, FastifyRequest>;
  readonly relay: Relay;
}

export interface ShardsOptions extends Omit<RelayOptions, "pool" | "shards"> {
  /** A database for each shard. The order counts. */
  readonly databaseUrls: readonly string[];
  readonly idempotency: Omit<IdempotencyOptions<pg.Pool, FastifyRequest>, "db">;
  /** Connections to each. */
  readonly connections: number;
}

/** How long until a shard that is away is tried again, ms. */
const AGAIN = 1_000;

/** All databases of the bank. One that is away takes no other with it, at the start or later. */
export class Shards {
  readonly all: readonly Shard[];
  readonly #ready = new Set<Shard>();
  readonly #jobs: (() => Promise<void>)[] = [];
  readonly #closed = new AbortController();

  constructor({ databaseUrls, idempotency, connections, ...relay }: ShardsOptions) {
    this.all = databaseUrls.map((connectionString) => {
      const pool = new pg.Pool({ connectionString, max: connections, connectionTimeoutMillis: 5_000 });
      // A connection cut while idle is replaced; without a listener it would end the process.
      pool.on("error", () => {});
      return {
        pool,
        idempotency: createIdempotency({ ...idempotency, db: pool }),
        relay: createRelay({ ...relay, pool, shards: databaseUrls.length }),
      };
    });
  }

  /**
   * The shard of an account.
   *
   * @throws Error with `statusCode` 503 while its database has not been there yet
   */
  of(account: number): Shard {
    return this.#at(shardOf(account, this.all.length));
  }

  /** The shard of a transfer that was not validated yet. @throws as {@link of} */
  ofRequest({ body }: FastifyRequest): Shard {
    return this.#at(shardOfRequest(body, this.all.length));
  }

  /**
   * Creates what is missing. A database that cannot be used now is tried again, until it can.
   *
   * @throws WrongShard where databases were mixed up
   */
  async open(): Promise<void> {
    await Promise.all(
      this.all.map(async (shard) => {
        const error = await this.#prepare(shard);
        if (error instanceof WrongShard) throw error;
        if (error !== undefined) void this.#keepTrying(shard, error.message);
      }),
    );
  }

  /** What is promised of a key; on all of them the same. */
  get contract(): Contract {
    return (this.all[0] as Shard).idempotency.contract;
  }

  /** Which of them answer, by number. */
  async answering(): Promise<boolean[]> {
    return Promise.all(this.all.map(async (shard) => this.#ready.has(shard) && isThere(shard)));
  }

  /** Begins no more credits. Those under way go on. */
  stop(): void {
    this.#closed.abort();
    for (const { relay } of this.all) relay.stop();
  }

  async close(): Promise<void> {
    this.stop();
    await Promise.all(this.#jobs.map((stop) => stop()));
    await Promise.all(
      this.all.map(async ({ relay, pool }) => {
        await relay.close();
        await pool.end();
      }),
    );
  }

  #at(number: number): Shard {
    const shard = this.all[number] as Shard;
    if (this.#ready.has(shard)) return shard;
    throw Object.assign(new Error("unavailable"), { statusCode: 503, headers: { "retry-after": "1" } });
  }

  /** Resolves to what is in the way, if anything is. */
  async #prepare(shard: Shard): Promise<Error | undefined> {
    try {
      await createBank(shard.pool, this.all.indexOf(shard), this.all.length);
      await shard.idempotency.migrate();
      // Opens its store.
      await shard.relay.counts();
      if (this.#closed.signal.aborted) return undefined;
      shard.relay.start();
      this.#jobs.push(shard.idempotency.startRetention());
      this.#ready.add(shard);
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  async #keepTrying(shard: Shard, why: string): Promise<void> {
    if (this.#closed.signal.aborted) return;
    console.error(`shard ${this.all.indexOf(shard)} is not in service: ${why}`);
    while (!this.#ready.has(shard)) {
      await sleep(AGAIN, undefined, { signal: this.#closed.signal, ref: false }).catch(() => {});
      if (this.#closed.signal.aborted) return;
      await this.#prepare(shard);
    }
    console.error(`shard ${this.all.indexOf(shard)} is in service`);
  }
}

async function isThere({ pool }: Shard): Promise<boolean> {
  return pool.query("SELECT 1").then(
    () => true,
    () => false,
  );
}
