import { randomUUID } from "node:crypto";
import pg from "pg";
import { type Clock, createSdk, post, type Sdk, type Store } from "samekey";
import { postgresStore } from "samekey/stores/postgres";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type ObservedServer, startObservedServer } from "../../support/observed-server.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";

const operations = { order: post<{ order: string }, { receipt: number }>("/orders", { conflict: "in-progress" }) };

export type OrderSdk = Sdk<typeof operations>;

/** A database and a server for a test file, and what a test makes in them. */
export interface World {
  readonly pool: pg.Pool;
  readonly url: string;
  readonly server: ObservedServer;
  /** The name that the sdks of this test share. */
  readonly name: string;
  /** An sdk that is closed after the test. */
  sdk(store?: Store, more?: { readonly clock?: Clock }): OrderSdk;
  store(): Store;
}

export function world(): World {
  let postgres: TestPostgres;
  let pool: pg.Pool;
  let server: ObservedServer;
  let name = "";
  const sdks = new Set<OrderSdk>();

  beforeAll(async () => {
    postgres = await startPostgres();
    pool = new pg.Pool({ connectionString: postgres.url, max: 8 });
    // An idle connection that is cut is the pool's to replace.
    pool.on("error", () => {});
    await pool.query("create table debits (id text primary key)");
  });
  afterAll(async () => {
    await pool?.end();
    await postgres?.stop();
  });
  beforeEach(async () => {
    name = `t-${randomUUID()}`;
    server = await startObservedServer();
  });
  afterEach(async () => {
    await Promise.all([...sdks].map((sdk) => sdk.close({ timeout: 0 })));
    sdks.clear();
    await server.close();
  });

  const store = () => postgresStore({ pool });
  return {
    get pool() {
      return pool;
    },
    get url() {
      return postgres.url;
    },
    get server() {
      return server;
    },
    get name() {
      return name;
    },
    store,
    sdk(its = store(), more = {}) {
      const retry = { base: "20ms", cap: "200ms", backgroundCap: "200ms" } as const;
      const sdk = createSdk({
        name,
        baseUrl: server.url,
        owner: "single",
        retention: "24h",
        store: its,
        retry,
        operations,
        ...more,
      });
      sdks.add(sdk);
      return sdk;
    },
  };
}

/** Runs `act` in a transaction, which is committed if it resolves. */
export async function inTransaction<T>(pool: pg.Pool, act: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const result = await act(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}
