import { drizzle } from "drizzle-orm/node-postgres";
import { sql } from "drizzle-orm/sql";
import pg from "pg";
import postgres from "postgres";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency, type Idempotency } from "../../../src/server/index.js";
import { type OpenDriver, ownConnections } from "./drivers.js";
import { created, effectOn, type Fixture, makePool, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const misuse = { name: "MisuseError", code: "bad_option", message: expect.stringContaining("SAVEPOINT") };

describe.each(ownConnections)("on $name, a handler's", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;

  beforeAll(() => {
    opened = driver.open(fixture.url);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
  });

  afterAll(() => opened.end());

  it.each([
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SELECT 1; COMMIT",
    ";COMMIT; BEGIN",
    "SELECT 'it''s'; /* the end */ END;",
    'SELECT $body$;$body$, E\'\\\';\', ";" FROM (SELECT 1 AS ";") t; ROLLBACK AND CHAIN',
  ])("%s is refused, and everything undone", async (statement) => {
    const key = v7();
    const ending = engine.run(request(key), async (execution) => {
      await effectOn(opened)(execution);
      await opened.query(execution.tx, statement);
      return created;
    });
    await expect(ending).rejects.toMatchObject(misuse);
    expect(await fixture.effects(key)).toBe(0);
    expect((await engine.run(request(key), effectOn(opened))).kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });

  it("COMMIT whose refusal it swallows commits nothing by itself", async () => {
    const key = v7();
    const failing = engine.run(request(key), async (execution) => {
      await effectOn(opened)(execution);
      await opened.query(execution.tx, "COMMIT").catch(() => {});
      throw new Error("later");
    });
    await expect(failing).rejects.toThrow("later");
    expect(await fixture.effects(key)).toBe(0);
  });

  it.each([
    "SELECT '; COMMIT'",
    "SELECT $$; COMMIT; $$; SELECT 1 -- ; COMMIT",
    "DO $$ BEGIN PERFORM 1; END $$; SELECT 1",
    "CREATE FUNCTION pg_temp.two() RETURNS integer LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT 2; END",
  ])("%s neither ends nor begins one", async (statement) => {
    const key = v7();
    const outcome = await engine.run(request(key), async (execution) => {
      await effectOn(opened)(execution);
      await opened.query(execution.tx, statement);
      return created;
    });
    expect(outcome.kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });

  it("savepoints are its own", async () => {
    const key = v7();
    const outcome = await engine.run(request(key), async (execution) => {
      await effectOn(opened)(execution);
      await opened.query(execution.tx, "SAVEPOINT attempt");
      await opened.query(execution.tx, "SELECT 1 / 0").catch(() => {});
      await opened.query(execution.tx, "ROLLBACK TO SAVEPOINT attempt");
      return created;
    });
    expect(outcome.kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });
});

it("a transaction of Drizzle's own within a handler's on pg is refused, not committed ahead of the record", async () => {
  const pool = makePool(fixture.url, 2);
  const engine = createIdempotency({ db: pool, retention: "24h" });
  const nesting = engine.run(request(v7()), async ({ tx }) => {
    await drizzle(tx).transaction(async (inner) => inner.execute(sql`SELECT 1`));
    return created;
  });
  await expect(nesting).rejects.toMatchObject({ cause: misuse });
  await pool.end();
});

it("pg's query objects are looked into", async () => {
  const pool = makePool(fixture.url, 2);
  const engine = createIdempotency({ db: pool, retention: "24h" });
  const ask = (query: (tx: pg.PoolClient) => Promise<unknown>) =>
    engine.run(request(v7()), async ({ tx }) => {
      await query(tx);
      return created;
    });
  await expect(ask((tx) => tx.query({ text: "COMMIT" }))).rejects.toMatchObject(misuse);
  await expect(ask(async (tx) => tx.query(new pg.Query("COMMIT")))).rejects.toMatchObject(misuse);
  await pool.end();
});

it("postgres' templates are looked at when they are sent, as a piece of one may begin with END", async () => {
  const db = postgres(fixture.url, { max: 2, onnotice: () => {} });
  const engine = createIdempotency({ db, retention: "24h" });
  const ask = (query: (tx: postgres.ReservedSql) => PromiseLike<unknown>) =>
    engine.run(request(v7()), async ({ tx }) => {
      await query(tx);
      return created;
    });
  await expect(ask((tx) => tx`commit`)).rejects.toMatchObject(misuse);
  await expect(ask((tx) => tx.begin(async (inner) => inner`SELECT 1`))).rejects.toMatchObject(misuse);
  expect((await ask((tx) => tx`SELECT CASE WHEN true THEN 1 ${tx`END`}`)).kind).toBe("executed");
  await db.end();
});
