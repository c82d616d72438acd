import type { PoolClient } from "pg";
import { createIdempotency, type Idempotency, type RetentionReport } from "../../../src/server/index.js";
import { planMigration } from "../../../src/server/migrate.js";
import { runRetention } from "../../../src/server/retention.js";
import { sessionsOf } from "../../../src/server/sessions/open.js";
import type { Sessions } from "../../../src/server/sessions/session.js";
import type { Fixture } from "./fixture.js";

export const day = 86_400_000;

/** A schema, and an engine on it, that live through time: the database's clock is set, and what is stored stays. */
export interface Life {
  readonly engine: Idempotency<PoolClient>;
  readonly schema: string;
  /** The time that both clocks show. */
  now(): number;
  /** Sets the database's clock and this process's. */
  at(time: number): Promise<void>;
  /** Sets the database's clock alone. */
  databaseAt(time: number): Promise<void>;
  run(settings?: { db?: Sessions; patience?: number }): Promise<RetentionReport>;
  /** The same schema under other settings, as after a deploy. */
  withRetention(retention: "1h" | "24h" | "7d" | "30d"): Promise<Idempotency<PoolClient>>;
  partitions(): Promise<string[]>;
}

export async function startLife(fixture: Fixture, schema: string, begin: number = Date.now()): Promise<Life> {
  const { pool } = fixture;
  const engineFor = (retention: "1h" | "24h" | "7d" | "30d") => createIdempotency({ db: pool, retention, schema });
  const engine = engineFor("24h");
  await engine.migrate();
  let offset = 0;
  const databaseAt = async (time: number): Promise<void> => {
    const shift = `${Math.round(time - Date.now())} milliseconds`;
    await pool.query(
      `CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS $$SELECT clock_timestamp() + interval '${shift}'$$`,
    );
  };
  const life: Life = {
    engine,
    schema,
    now: () => Date.now() + offset,
    databaseAt,
    at: async (time) => {
      await databaseAt(time);
      offset = time - Date.now();
    },
    run: ({ db = sessionsOf(pool) as Sessions, ...settings } = {}) =>
      runRetention(db, schema, { clock: life.now, ...settings }),
    withRetention: async (retention) => {
      const other = engineFor(retention);
      await other.migrate();
      return other;
    },
    partitions: async () => {
      const { rows } = await pool.query(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname ~ '^keys_2' ORDER BY 1",
        [schema],
      );
      return rows.map(({ name }) => name);
    },
  };
  if (Math.abs(begin - Date.now()) > 1000) {
    // From an empty schema: its partitions are those of the time at which it begins.
    await pool.query(`DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}`);
    for (const statement of planMigration(undefined, { schema, window: Math.ceil(day * 1.1), now: begin }))
      await pool.query(statement);
    await life.at(begin);
  }
  return life;
}
