import { randomUUID } from "node:crypto";
import pg from "pg";
import { startEmbeddedPostgres } from "../../examples/reference-server/embedded-postgres.js";

/** A Postgres for one test file. */
export interface TestPostgres {
  /** The connection string of a new, empty database. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a Postgres with a fresh data directory, or makes a new database in the one that `DATABASE_URL` names. What it
 * writes is not synced to disk: tests kill processes, not the machine.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL) return startEmbeddedPostgres({ fsync: false });
  const name = `samekey_test_${randomUUID().replaceAll("-", "")}`;
  await admin(DATABASE_URL, `CREATE DATABASE ${name}`);
  const url = new URL(DATABASE_URL);
  url.pathname = `/${name}`;
  return { url: url.href, stop: () => admin(DATABASE_URL, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function admin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
