import { StoreError } from "../errors.js";
import { sqlState } from "./failure.js";
import { readSchema, type SchemaState, schemaFault } from "./schema-state.js";
import type { Session, Sessions } from "./sessions/session.js";
import { claimSql } from "./sql/claim.js";
import { quoteIdentifier, quoteLiteral } from "./sql/identifier.js";
import { keyBoundSql, partitionSql, partitionsAfter, startOfDay } from "./sql/partitions.js";
import { type MigrationContext, migrations } from "./sql/schema.js";
import { inTransaction, withSession } from "./use-session.js";

/** A claim that read the old window may still be answering for this long after a new one was set, ms. */
const slack = 60_000;

const insufficientPrivilege = "42501";

/**
 * Brings the schema to this code's version and window, and makes the partitions that are missing. One transaction,
 * under a lock: any number of servers may start at once. Where nothing is to be done nothing is written, and a role
 * that may only read does.
 *
 * @param window - How old a key may be, ms.
 * @param steps - The migrations, from the first.
 * @throws StoreError `newer_schema` where a newer samekey made the schema.
 */
export async function migrate(
  db: Sessions,
  schema: string,
  window: number,
  steps: typeof migrations = migrations,
): Promise<void> {
  await withSession(db, async (session) => {
    const found = await readSchema(session, schema);
    if (planMigration(found, { schema, window, now: found?.now ?? 0 }, steps).length === 0) return;
    try {
      await inTransaction(session, async () => {
        await session.query(lockSql(schema));
        for (const statement of await missingFrom(session, schema, window, steps)) await session.query(statement);
      });
    } catch (error) {
      if (sqlState(error) !== insufficientPrivilege) throw error;
      // What there is will do for now, and somebody else's job makes the rest.
      if (found?.version === steps.length && found.window >= window && found.horizon > found.now) return;
      throw new StoreError("unavailable", {
        detail: `schema ${JSON.stringify(schema)} is to be changed, which this role may not do; run \`samekey migrate\` as its owner`,
        cause: error,
      });
    }
  });
}

/**
 * What {@link migrate} would do, as a script for psql.
 *
 * @param session - Without one, the script is for a database that has no schema yet.
 */
export async function migrationScript(session: Session | undefined, schema: string, window: number): Promise<string> {
  const statements = session
    ? await missingFrom(session, schema, window, migrations)
    : planMigration(undefined, { schema, window, now: Date.now() });
  if (statements.length === 0) return "";
  return `${["BEGIN;", `${lockSql(schema)};`, ...statements, "COMMIT;"].join("\n")}\n`;
}

async function missingFrom(
  session: Session,
  schema: string,
  window: number,
  steps: typeof migrations,
): Promise<string[]> {
  const found = await readSchema(session, schema);
  const now = found?.now ?? (await clockOf(session));
  return planMigration(found, { schema, window, now }, steps);
}

/**
 * The statements that bring a schema from what was found to what is wanted.
 *
 * @throws StoreError `newer_schema`
 */
export function planMigration(
  found: SchemaState | undefined,
  context: MigrationContext,
  steps: typeof migrations = migrations,
): string[] {
  const { schema, window, now } = context;
  const s = quoteIdentifier(schema);
  const start = startOfDay(now - window);
  const { version, ...state } = found ?? { version: 0, window, horizon: start, droppedThrough: start, partitions: [] };
  if (version > steps.length) throw schemaFault(schema, version);

  const statements = steps.slice(version).map((step) => step(context));
  // A role that may not create schemas can work in one that was made for it: IF NOT EXISTS would ask for the right.
  if (version === 0) statements.unshift(createSchemaSql(schema));
  else if (statements.length > 0) statements.push(`UPDATE ${s}.meta SET version = ${steps.length};`);
  if (state.window !== window) statements.push(windowSql(schema, window));
  const partitions = planPartitions(schema, { ...state, window, now });
  // What is made from the code alone is made anew with every version.
  if (partitions.length === 0 && version < steps.length) statements.push(claimSql(schema, state.partitions));
  return [...statements, ...partitions];
}

/** The partitions that are missing, the mark that they are there, and the claim that knows them. */
export function planPartitions(
  schema: string,
  { horizon, droppedThrough, partitions, window, now }: Omit<SchemaState, "version">,
): string[] {
  const missing = partitionsAfter(Math.max(horizon, startOfDay(droppedThrough)), now, window);
  const last = missing.at(-1);
  if (last === undefined) return [];
  return [
    ...missing.map((partition) => partitionSql(schema, partition)),
    `UPDATE ${quoteIdentifier(schema)}.meta SET horizon = ${quoteLiteral(last.to)};`,
    claimSql(schema, [...partitions, ...missing]),
  ];
}

/** Lets one migration or making of partitions go on at a time; gone with the transaction. */
export const lockSql = (schema: string): string =>
  `SELECT pg_advisory_xact_lock(hashtextextended(${quoteLiteral(schema)}, 71))`;

function createSchemaSql(schema: string): string {
  const create = quoteLiteral(`CREATE SCHEMA ${quoteIdentifier(schema)}`);
  return `DO ${quoteLiteral(`BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${quoteLiteral(schema)}) THEN EXECUTE ${create}; END IF;
END`)};`;
}

/**
 * Sets the window. What a narrower one has expired stays so when it is widened again: its keys may have been given up.
 * What a wider one has promised to remember stays remembered when it is narrowed.
 */
function windowSql(schema: string, window: number): string {
  const s = quoteIdentifier(schema);
  const expired = keyBoundSql(`floor(extract(epoch FROM ${s}.clock()) * 1000)::bigint + ${slack} - window_ms`);
  return `UPDATE ${s}.meta SET
  dropped_through = CASE WHEN window_ms < ${window} THEN greatest(dropped_through, ${expired}) ELSE dropped_through END,
  narrowed_at = CASE WHEN window_ms > ${window} THEN ${s}.clock() ELSE narrowed_at END,
  widest_ms = greatest(widest_ms, window_ms),
  window_ms = ${window};`;
}

async function clockOf(session: Session): Promise<number> {
  const { rows } = await session.query("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now");
  return Math.floor(Number(rows[0].now));
}
