import type pg from "pg";
import { v7 } from "uuid";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency, type Idempotency } from "../../../src/server/index.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";
import { created, makePool, request } from "./fixture.js";

const hour = 3_600_000;
const day = 24 * hour;
/** Of a retention of 24 h. */
const window = Math.ceil(day * 1.1);

let postgres: TestPostgres;
let pool: pg.Pool;

beforeAll(async () => {
  postgres = await startPostgres();
  pool = makePool(postgres.url, 4);
}, 60_000);

afterAll(async () => {
  await pool.end();
  await postgres.stop();
});

// A schema's name that has to be quoted, and a fresh one for each test.
const schema = `Keys "of" today`;
afterEach(() => pool.query(`DROP SCHEMA IF EXISTS "Keys ""of"" today" CASCADE`));

async function migrated(retention: "24h" | "7d"): Promise<Idempotency<pg.PoolClient>> {
  const engine = createIdempotency({ db: pool, retention, schema });
  await engine.migrate();
  return engine;
}

/** Moves the schema's clock: as if so much time had passed, and nobody had looked after it. */
const pass = (time: string) =>
  pool.query(
    `CREATE OR REPLACE FUNCTION "Keys ""of"" today".clock() RETURNS timestamptz LANGUAGE sql VOLATILE
       AS $$SELECT clock_timestamp() + interval '${time}'$$`,
  );

/** Drops the oldest partitions, as nobody should. */
async function dropDays(count: number): Promise<void> {
  const { rows } = await pool.query(
    `SELECT inhrelid::regclass AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
      WHERE inhparent = '"Keys ""of"" today".keys'::regclass AND c.relname ~ 'keys_[0-9]' ORDER BY c.relname`,
  );
  for (const { name } of rows.slice(0, count)) await pool.query(`DROP TABLE ${name}`);
}

describe("retentionStatus", () => {
  it("of a new schema keeps what it promises, with partitions ahead and nothing behind", async () => {
    const status = await (await migrated("24h")).retentionStatus();
    expect(status.promised).toBe(window);
    expect(status.kept).toBe(window);
    expect(status.lag).toBe(0);
    expect(status.ahead).toBeGreaterThanOrEqual(2);
  });

  it("tells how long the oldest keys are overdue, and that there are fewer partitions ahead", async () => {
    const engine = await migrated("24h");
    const before = await engine.retentionStatus();
    await pass("5 days");
    const after = await engine.retentionStatus();
    // Its oldest day became due within the first day, or the second.
    expect(after.lag).toBeGreaterThan(3 * day);
    expect(after.lag).toBeLessThanOrEqual(5 * day);
    expect(after.ahead).toBe(before.ahead - 5);
    expect(after.kept).toBe(after.promised);
  });

  it("tells how long answers under opaque keys are overdue, but not of keys that are only remembered", async () => {
    const engine = await migrated("24h");
    await engine.run(request("order-1"), () => created);
    await dropDays(20);
    await pass("27 hours");
    const { lag } = await engine.retentionStatus();
    expect(lag).toBeGreaterThanOrEqual(0.6 * hour);
    expect(lag).toBeLessThan(day);
    await pool.query(`UPDATE "Keys ""of"" today".keys SET expired_at = now() WHERE key = 'oorder-1'`);
    expect((await engine.retentionStatus()).lag).toBe(0);
  });

  it("tells that keys are forgotten sooner than promised", async () => {
    const engine = await migrated("24h");
    const tenHoursAgo = `7${(Date.now() - 10 * hour).toString(16).padStart(12, "0")}`;
    await pool.query(`UPDATE "Keys ""of"" today".meta SET dropped_through = $1`, [tenHoursAgo]);
    const { kept, promised } = await engine.retentionStatus();
    expect(promised - kept).toBeGreaterThan(16 * hour);
    expect(promised - kept).toBeLessThan(16.5 * hour);
    // And so it is.
    const old = v7({ msecs: Date.now() - 11 * hour });
    expect(await engine.run(request(old), () => created)).toMatchObject({ kind: "expired" });
  });

  it("tells that a partition is gone which nobody has marked as dropped", async () => {
    const engine = await migrated("24h");
    await dropDays(2);
    const { kept, promised } = await engine.retentionStatus();
    expect(kept).toBeLessThan(promised);
  });

  it("tells that another server's options have narrowed the window", async () => {
    const wide = await migrated("7d");
    await migrated("24h");
    expect(await wide.retentionStatus()).toMatchObject({ promised: 7.7 * day, kept: window });
  });

  it("tells after the window was widened that the keys of the days before are not known any more", async () => {
    await migrated("24h");
    const { kept, promised } = await (await migrated("7d")).retentionStatus();
    expect(promised).toBe(7.7 * day);
    expect(kept).toBeLessThanOrEqual(26.4 * hour);
  });

  it("rejects where there is no schema, with what to do", async () => {
    const status = createIdempotency({ db: pool, retention: "24h", schema: "none" }).retentionStatus();
    await expect(status).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("migrate") });
  });
});
