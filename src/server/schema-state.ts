import { StoreError } from "../errors.js";
import { sqlState } from "./failure.js";
import { partitionTables } from "./partition-tables.js";
import type { Session, Sessions } from "./sessions/session.js";
import { quoteIdentifier } from "./sql/identifier.js";
import { boundTime, type Partition } from "./sql/partitions.js";
import { migrations } from "./sql/schema.js";
import { withSession } from "./use-session.js";

/** The version of the schema that this code works with. */
export const schemaVersion: number = migrations.length;

/** What the schema says of itself. Times in ms since 1970, by the database's clock. */
export interface SchemaState {
  readonly version: number;
  /** How old a key may be, ms. */
  readonly window: number;
  /** Keys minted from here on have no partition yet. */
  readonly horizon: number;
  /** Keys minted before are gone for ever. */
  readonly droppedThrough: number;
  /** Those of v7 keys, oldest first. */
  readonly partitions: readonly Partition[];
  readonly now: number;
}

/** @returns undefined where there is no schema, or none of samekey's. */
export async function readSchema(session: Session, schema: string): Promise<SchemaState | undefined> {
  if (!(await hasSchema(session, schema))) return undefined;
  const s = quoteIdentifier(schema);
  const { rows } = await session.query(
    `SELECT version, window_ms, horizon, dropped_through, extract(epoch FROM ${s}.clock()) * 1000 AS now FROM ${s}.meta`,
  );
  const { version, window_ms, horizon, dropped_through, now } = rows[0];
  return {
    version,
    window: Number(window_ms),
    horizon: boundTime(horizon),
    droppedThrough: boundTime(dropped_through),
    partitions: (await partitionTables(session, schema)).filter(({ state }) => state === "attached"),
    now: Math.floor(Number(now)),
  };
}

/** Why this code cannot work with the schema, from what is there. */
export function schemaFault(schema: string, version: number | undefined): StoreError {
  const name = JSON.stringify(schema);
  if (version === undefined) {
    const detail = `the database has no schema ${name} of samekey's; call migrate() at start, or run \`samekey migrate\``;
    return new StoreError("unavailable", { detail });
  }
  if (version > schemaVersion) {
    const detail = `schema ${name} has version ${version}, this code knows ${schemaVersion}`;
    return new StoreError("newer_schema", { detail });
  }
  const detail = `schema ${name} has version ${version}, this code needs ${schemaVersion}; call migrate() at start, or run \`samekey migrate\``;
  return new StoreError("unavailable", { detail });
}

/** Whether a statement failed because something of the schema is not there, or not as this code knows it. */
export function isSchemaFailure(error: unknown): boolean {
  // invalid_schema_name, undefined_table, undefined_function, undefined_column
  return /^(3F000|42P01|42883|42703)$/.test(sqlState(error) ?? "");
}

/** @returns why this code cannot work with the schema that is there, if so */
export async function explainSchema(db: Sessions, schema: string): Promise<StoreError | undefined> {
  return withSession(db, async (session) => {
    if (!(await hasSchema(session, schema))) return schemaFault(schema, undefined);
    const { rows } = await session.query(`SELECT version FROM ${quoteIdentifier(schema)}.meta`);
    return rows[0]?.version === schemaVersion ? undefined : schemaFault(schema, rows[0]?.version);
  });
}

// Not with to_regclass: it may remember that there was none from before a lock was waited for.
async function hasSchema(session: Session, schema: string): Promise<boolean> {
  const { rows } = await session.query(
    `SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = 'meta'`,
    [schema],
  );
  return rows.length > 0;
}
