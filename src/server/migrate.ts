import { StoreError } from "../errors.js";
import type { Connection, Database } from "./driver.js";
import { quoteIdentifier, quoteLiteral } from "./sql/identifier.js";
import { partitionSql, partitionsFor } from "./sql/partitions.js";
import { schemaSql, schemaVersion } from "./sql/schema.js";

/** Partitions are made this far ahead: keys from clocks that run fast, and days on which nothing runs. */
const ahead = 2 * 86_400_000;

/**
 * Creates the schema where there is none, and the partitions that are missing. One transaction, under a lock: any
 * number of servers may start at once.
 *
 * @param windowMs - Keys as old as this must find their partition.
 * @throws StoreError `newer_schema` where a newer samekey made the schema.
 */
export async function migrate(db: Database, schema: string, windowMs: number): Promise<void> {
  const connection = await db.connect();
  let failed = true;
  try {
    await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    await connection.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 71))", [schema]);
    await prepare(connection, schema, windowMs);
    await connection.query("COMMIT");
    failed = false;
  } finally {
    if (failed) await connection.query("ROLLBACK").catch(() => {});
    connection.release(failed);
  }
}

async function prepare(connection: Connection, schema: string, windowMs: number): Promise<void> {
  const s = quoteIdentifier(schema);
  const found = await connection.query("SELECT to_regclass($1) IS NOT NULL AS present", [`${s}.meta`]);
  if (!found.rows[0].present) await connection.query(schemaSql(schema));

  const { rows } = await connection.query(
    `SELECT version, horizon, dropped_through, extract(epoch FROM clock_timestamp()) * 1000 AS now FROM ${s}.meta`,
  );
  const { version, horizon, dropped_through, now } = rows[0];
  if (version > schemaVersion) {
    throw new StoreError("newer_schema", {
      detail: `schema ${schema} has version ${version}, this code ${schemaVersion}`,
    });
  }
  const wanted = partitionsFor(Number(now), windowMs, ahead).filter(({ from }) => from >= dropped_through);
  const present = await connection.query(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass($1)`,
    [`${s}.keys`],
  );
  const names = new Set(present.rows.map((row) => row.name));
  const missing = wanted.filter(({ name }) => !names.has(name));
  for (const partition of missing) await connection.query(partitionSql(schema, partition));
  const last = wanted.at(-1);
  if (last !== undefined && last.to > horizon) {
    await connection.query(`UPDATE ${s}.meta SET horizon = ${quoteLiteral(last.to)}`);
  }
}
