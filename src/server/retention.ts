import type { AnyDatabase } from "./driver.js";
import { lockSql, planPartitions } from "./migrate.js";
import { partitionTables } from "./partition-tables.js";
import { bounded, patiently } from "./retention/busy.js";
import { dropPartition } from "./retention/drop.js";
import { expireOpaque, forgetOpaque } from "./retention/opaque.js";
import { readSchema, type SchemaState, schemaFault, schemaVersion } from "./schema-state.js";
import type { Session, Sessions } from "./sessions/session.js";
import { boundTime } from "./sql/partitions.js";
import { inTransaction, withSession } from "./use-session.js";

/** Options of the retention job. */
export interface RetentionOptions {
  /**
   * A pool of its own for the job: of a role that owns the schema, where the server's may not change it, or where the
   * server's `db` is a query builder, which runs every statement in a transaction.
   *
   * @defaultValue the server's `db`
   */
  readonly db?: AnyDatabase | undefined;
}

/** What one run of the retention job did. */
export interface RetentionReport {
  /** Partitions made ahead. */
  readonly made: readonly string[];
  /** Partitions dropped. */
  readonly dropped: readonly string[];
  /** Partitions that are due and could not be dropped yet: something old holds them, or another run is at it. */
  readonly waiting: readonly string[];
  /** Answers of opaque keys erased, as they are past the window. Their keys are answered 410 for another window. */
  readonly expired: number;
  /** Opaque keys forgotten. */
  readonly forgotten: number;
}

/** What a run goes by. */
export interface RunSettings {
  /** This process's clock, ms since 1970. */
  readonly clock: () => number;
  /** How long a detach may wait for older transactions, ms, before it is left to the database and the next run. */
  readonly patience: number;
}

const usual: RunSettings = { clock: Date.now, patience: 10_000 };

/**
 * One run: makes partitions ahead, drops those past the window, and opaque keys past twice the window. Nothing depends
 * on it but room: what has expired is answered so with or without it. It may be killed anywhere, and run by many.
 *
 * @throws StoreError `unavailable`, `newer_schema` where the schema is not this code's.
 */
export async function runRetention(
  db: Sessions,
  schema: string,
  settings: Partial<RunSettings> = {},
): Promise<RetentionReport> {
  const { clock, patience } = { ...usual, ...settings };
  const state = await withSession(db, (session) => stateOf(session, schema));
  const made = (await patiently(() => withSession(db, (session) => makePartitions(session, schema, clock())))) ?? [];

  // Only what both clocks call old is old: a database whose clock jumped ahead must not lose what it has promised.
  const oldest = Math.max(Math.min(state.now, clock()) - state.window, state.droppedThrough);
  const tables = await withSession(db, (session) => partitionTables(session, schema));
  const due = tables.filter(({ to }) => boundTime(to) <= oldest);
  const dropped: string[] = [];
  for (const table of due) {
    // One detach at a time, and the oldest first: Postgres allows no second one while one is pending.
    if (!(await dropPartition(db, schema, table, clock(), patience))) break;
    dropped.push(table.name);
  }
  return {
    made,
    dropped,
    waiting: due.slice(dropped.length).map(({ name }) => name),
    expired: await expireOpaque(db, schema, clock()),
    forgotten: await forgetOpaque(db, schema, clock()),
  };
}

async function makePartitions(session: Session, schema: string, now: number): Promise<string[]> {
  const plan = async (): Promise<string[]> => {
    const state = await stateOf(session, schema);
    return planPartitions(schema, { ...state, now: Math.min(state.now, now) });
  };
  const before = await partitionTables(session, schema);
  if ((await plan()).length === 0) return [];
  await inTransaction(
    session,
    async () => {
      await session.query(lockSql(schema));
      for (const statement of await plan()) await session.query(statement);
    },
    bounded,
  );
  const known = new Set(before.map(({ name }) => name));
  return (await partitionTables(session, schema)).flatMap(({ name }) => (known.has(name) ? [] : [name]));
}

async function stateOf(session: Session, schema: string): Promise<SchemaState> {
  const state = await readSchema(session, schema);
  if (state?.version !== schemaVersion) throw schemaFault(schema, state?.version);
  return state;
}
