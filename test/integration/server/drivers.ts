import { once } from "node:events";
import type { Socket } from "node:net";
import { drizzle as drizzleOnPg } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOnPostgres } from "drizzle-orm/postgres-js";
import { type SQL, sql } from "drizzle-orm/sql";
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import postgres from "postgres";
import type { AnyDatabase, Database, TransactionRunner } from "../../../src/server/index.js";

/** What a database is reached with, as `db` takes it. */
export interface Driver {
  readonly name: string;
  /** @param socket - makes the sockets, for those who look at what goes over them */
  open(url: string, max?: number, socket?: () => Socket): OpenDriver;
}

/** A driver with its connections. */
export interface OpenDriver {
  readonly db: AnyDatabase;
  /** Runs a statement on what a handler receives as `tx`. */
  // biome-ignore lint/suspicious/noExplicitAny: each driver's own, and rows of any kind
  query(tx: any, text: string, values?: unknown[]): Promise<any[]>;
  end(): Promise<void>;
}

const poolOf = (url: string, max: number, socket?: () => Socket, pipeline = false): pg.Pool => {
  const pool = new pg.Pool({ connectionString: url, max, pipeline, ...(socket && { stream: socket }) });
  // Tests cut connections; unheard, that would end the process.
  pool.on("error", () => {});
  return pool;
};

/** An ORM listens to no error of a connection that it has taken from the pool, and pg wants to be listened to. */
export const heard = (pool: pg.Pool): pg.Pool => pool.on("connect", (client) => client.on("error", () => {}));

const sqlOf = (url: string, max: number, socket?: () => Socket, prepare = true): postgres.Sql => {
  const connected = async (): Promise<Socket | undefined> => {
    const { hostname, port } = new URL(url);
    const made = socket?.().connect(Number(port), hostname);
    if (made !== undefined) await once(made, "connect");
    return made;
  };
  const options = { max, prepare, onnotice: () => {}, ...(socket && { socket: connected }) };
  return postgres(url, options as postgres.Options<Record<string, never>>);
};

/** A pool whose connections have a `query` of somebody's own, as those do that log or count. */
const wrapped = (pool: pg.Pool): Database => ({
  async connect() {
    const client = await pool.connect();
    return {
      query: (text, values) => client.query(text, values),
      release: (destroy) => client.release(destroy),
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
    };
  },
});

const onPg = (name: string, pipeline: boolean, outer = (pool: pg.Pool): Database => pool): Driver => ({
  name,
  open(url, max = 20, socket) {
    const pool = poolOf(url, max, socket, pipeline);
    return {
      db: outer(pool),
      query: async (tx: pg.PoolClient, text, values) => (await tx.query(text, values)).rows,
      end: () => pool.end(),
    };
  },
});

const onPostgres = (name: string, prepare: boolean): Driver => ({
  name,
  open(url, max = 20, socket) {
    const db = sqlOf(url, max, socket, prepare);
    return {
      db,
      query: (tx: postgres.ReservedSql, text, values) => tx.unsafe(text, values as string[]),
      end: () => db.end({ timeout: 1 }),
    };
  },
});

/** Text with `$1`, `$2`… in it as one of Drizzle's templates. */
export function template(text: string, values: unknown[]): SQL {
  const parts = values.length === 0 ? [text] : text.split(/\$(\d+)/);
  return sql.join(parts.map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1]}`)));
}

const throughOrm = <Tx>(
  db: TransactionRunner<Tx>,
  rows: (tx: Tx, text: string, values: unknown[]) => Promise<unknown[]>,
  end: () => Promise<void>,
): OpenDriver => ({ db, query: (tx, text, values = []) => rows(tx, text, values), end });

const kysely: Driver = {
  name: "Kysely on pg",
  open(url, max = 20, socket) {
    const own = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: heard(poolOf(url, max, socket)) }) });
    const query = (tx: Transaction<unknown>, text: string, values: unknown[]) =>
      tx.executeQuery(CompiledQuery.raw(text, values));
    const db = {
      transaction: (work: (tx: Transaction<unknown>) => Promise<void>) => own.transaction().execute(work),
      query,
    };
    return throughOrm(
      db,
      async (...args) => (await query(...args)).rows,
      () => own.destroy(),
    );
  },
};

const drizzlePg: Driver = {
  name: "Drizzle on pg",
  open(url, max = 20, socket) {
    const pool = heard(poolOf(url, max, socket));
    const own = drizzleOnPg(pool);
    type Tx = Parameters<Parameters<typeof own.transaction>[0]>[0];
    const query = (tx: Tx, text: string, values: unknown[]) => tx.execute(template(text, values));
    const db = { transaction: (work: (tx: Tx) => Promise<void>) => own.transaction(work), query };
    return throughOrm(
      db,
      async (...args) => (await query(...args)).rows,
      () => pool.end(),
    );
  },
};

const drizzlePostgres: Driver = {
  name: "Drizzle on postgres",
  open(url, max = 20, socket) {
    const client = sqlOf(url, max, socket);
    const own = drizzleOnPostgres(client);
    type Tx = Parameters<Parameters<typeof own.transaction>[0]>[0];
    const query = (tx: Tx, text: string, values: unknown[]) => tx.execute(template(text, values));
    const db = { transaction: (work: (tx: Tx) => Promise<void>) => own.transaction(work), query };
    return throughOrm(
      db,
      async (...args) => [...(await query(...args))],
      () => client.end({ timeout: 1 }),
    );
  },
};

/** Connections that samekey begins and ends its transactions on. */
export const ownConnections: readonly Driver[] = [
  onPg("pg", false),
  onPg("pg, pipelined", true),
  onPg("pg, wrapped", false, wrapped),
  onPostgres("postgres", true),
  onPostgres("postgres, unprepared", false),
];

/** Query builders and ORMs, whose transactions are their own. */
export const orms: readonly Driver[] = [kysely, drizzlePg, drizzlePostgres];

export const drivers: readonly Driver[] = [...ownConnections, ...orms];
