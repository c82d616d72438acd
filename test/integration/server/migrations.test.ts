import type pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency } from "../../../src/server/index.js";
import { migrate } from "../../../src/server/migrate.js";
import { sessionsOf } from "../../../src/server/sessions/open.js";
import type { Sessions } from "../../../src/server/sessions/session.js";
import { quoteIdentifier } from "../../../src/server/sql/identifier.js";
import { type Migration, migrations } from "../../../src/server/sql/schema.js";
import { effect, type Fixture, makePool, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const day = 86_400_000;
const query = async (sql: string) => (await fixture.pool.query(sql)).rows;
const sessions = (pool: pg.Pool = fixture.pool) => sessionsOf(pool) as Sessions;
const withSchema = (schema: string, db: pg.Pool = fixture.pool) => createIdempotency({ db, retention: "24h", schema });

describe("migrations", () => {
  const second: Migration = ({ schema }) => `CREATE TABLE ${quoteIdentifier(schema)}.second (a int);`;
  const third: Migration = ({ schema }) => `ALTER TABLE ${quoteIdentifier(schema)}.second ADD b int;`;

  it("are made one after the other, once, from many servers at once", async () => {
    const pools = Array.from({ length: 5 }, () => makePool(fixture.url, 1));
    await migrate(sessions(), "steps", day);
    const all = [...migrations, second, third];
    await Promise.all(pools.map((pool) => migrate(sessions(pool), "steps", day, all)));
    expect(await query("SELECT version FROM steps.meta")).toEqual([{ version: all.length }]);
    expect(await query("SELECT a, b FROM steps.second")).toEqual([]);
    await Promise.all(pools.map((pool) => pool.end()));
  });

  it("leave the version before where one fails, and are made by the next attempt", async () => {
    await migrate(sessions(), "failing", day);
    const wrong: Migration = () => "SELECT 1/0;";
    await expect(migrate(sessions(), "failing", day, [...migrations, second, wrong])).rejects.toMatchObject({
      code: "22012",
    });
    expect(await query("SELECT version, to_regclass('failing.second') AS made FROM failing.meta")).toEqual([
      { version: migrations.length, made: null },
    ]);
    await migrate(sessions(), "failing", day, [...migrations, second]);
    expect(await query("SELECT version FROM failing.meta")).toEqual([{ version: migrations.length + 1 }]);
  });
});

describe("a server", () => {
  it("that meets no schema says how to make one, with a pool of one too", async () => {
    const pool = makePool(fixture.url, 1);
    const run = withSchema("nowhere", pool).run(request(v7()), effect());
    await expect(run).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/migrate\(\).*samekey migrate/),
    });
    await pool.end();
  });

  it("that meets a newer schema later says so, runs nothing and leaves it alone", async () => {
    const engine = withSchema("overtaken");
    await engine.migrate();
    expect((await engine.run(request(v7()), effect())).kind).toBe("executed");
    await query("UPDATE overtaken.meta SET version = version + 1");
    const newer = expect.objectContaining({ code: "newer_schema" });
    const key = v7();
    await expect(engine.run(request(key), effect())).rejects.toEqual(newer);
    await expect(engine.runRetention()).rejects.toEqual(newer);
    await expect(engine.migrate()).rejects.toEqual(newer);
    expect(await fixture.effects(key)).toBe(0);
  });

  it("whose key's partition is dropped while it runs takes the effect back and answers 410", async () => {
    const engine = withSchema("swept");
    await engine.migrate();
    const key = v7({ msecs: Date.now() - day });
    const outcome = await engine.run(request(key), async (execution) => {
      const [{ name }] = await query(
        "SELECT min(relname) AS name FROM pg_class WHERE relnamespace = 'swept'::regnamespace AND relname ~ '^keys_2.*[0-9]$'",
      );
      await query(
        "UPDATE swept.meta SET dropped_through = '7' || lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 3600000), 12, '0')",
      );
      // The claim holds its partition until the end, so that the real job would wait: this one takes it from under it.
      await execution.tx.query(`ALTER TABLE swept.keys DETACH PARTITION swept.${name}`);
      return effect()(execution);
    });
    expect(outcome.status).toBe(410);
    expect(await fixture.effects(key)).toBe(0);
  });
});

describe("a role", () => {
  const asRole = (role: string) => {
    const url = new URL(fixture.url);
    url.username = role;
    return makePool(url.href, 2);
  };

  it("that may only read the marks and read and add keys serves requests", async () => {
    await withSchema("granted").migrate();
    await query(`CREATE ROLE app LOGIN; GRANT INSERT ON effects TO app; GRANT USAGE ON SCHEMA granted TO app;
      GRANT SELECT, INSERT ON granted.keys TO app; GRANT SELECT ON granted.meta TO app;
      REVOKE ALL ON ALL FUNCTIONS IN SCHEMA granted FROM PUBLIC;
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA granted TO app;`);
    const pool = asRole("app");
    const engine = withSchema("granted", pool);
    await engine.migrate();
    for (const key of [v7(), "opaque", v7({ msecs: Date.now() - day })]) {
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
      expect((await engine.run(request(key), effect())).kind).toBe("replayed");
      expect((await engine.run(request(key, "other"), effect())).status).toBe(422);
    }
    expect(await engine.retentionStatus()).toMatchObject({ lag: 0 });

    // A day is missing ahead: not this role's to make, and not needed yet.
    await query(
      "UPDATE granted.meta SET horizon = '7' || lpad(to_hex((extract(epoch from now()) * 1000)::bigint + 90000000), 12, '0')",
    );
    await engine.migrate();
    await query("UPDATE granted.meta SET horizon = dropped_through");
    await expect(engine.migrate()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("samekey migrate"),
    });
    await expect(createIdempotency({ db: pool, schema: "granted", retention: "7d" }).migrate()).rejects.toMatchObject({
      code: "unavailable",
    });
    await pool.end();
  });

  it("that may not create schemas works in one that was made for it", async () => {
    await query(
      "CREATE ROLE tenant LOGIN; CREATE SCHEMA given AUTHORIZATION tenant; GRANT INSERT ON effects TO tenant",
    );
    const pool = asRole("tenant");
    const engine = withSchema("given", pool);
    await engine.migrate();
    expect((await engine.run(request(v7()), effect())).kind).toBe("executed");
    expect(await engine.runRetention()).toMatchObject({ waiting: [] });
    await pool.end();
  });
});
