import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency } from "../../../src/server/index.js";
import { sortableKey } from "../../../src/server/key.js";
import { keyBound } from "../../../src/server/sql/partitions.js";
import { effect, type Fixture, makePool, request, startFixture } from "./fixture.js";

const day = 86_400_000;
let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const withSchema = (schema: string, db: Pool = fixture.pool) => createIdempotency({ db, retention: "24h", schema });

/** The partition of the day. */
const dayOf = (time: number): string => {
  const date = (at: number) => new Date(at).toISOString().slice(0, 10).replaceAll("-", "");
  return `keys_${date(time)}_${date(time + day)}`;
};

describe("the schema", () => {
  it("is made once when many servers start at once on a fresh database", async () => {
    const pools = Array.from({ length: 5 }, () => makePool(fixture.url, 4));
    const engines = pools.map((pool) => withSchema("fresh", pool));
    await Promise.all(engines.map((engine) => engine.migrate()));
    const key = v7();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => engines[index % 5]?.run(request(key), effect())),
    );
    expect(outcomes.filter((outcome) => outcome?.kind === "executed")).toHaveLength(1);
    expect(await fixture.effects(key)).toBe(1);
    await Promise.all(pools.map((pool) => pool.end()));
  });

  it.each(["Weird \"name'; --", "$claim$", "größe"])("may be named %s", async (schema) => {
    const engine = withSchema(schema);
    await engine.migrate();
    await engine.migrate();
    const key = v7();
    expect((await engine.run(request(key), effect())).kind).toBe("executed");
    expect((await engine.run(request(key), effect())).kind).toBe("replayed");
  });

  it("of a newer version is refused and left alone", async () => {
    const engine = withSchema("newer");
    await engine.migrate();
    await fixture.pool.query("UPDATE newer.meta SET version = 99");
    await expect(withSchema("newer").migrate()).rejects.toMatchObject({ code: "newer_schema" });
  });

  it("that fails to be made leaves nothing behind", async () => {
    await fixture.pool.query("CREATE SCHEMA taken; CREATE TABLE taken.keys (a int)");
    await expect(withSchema("taken").migrate()).rejects.toMatchObject({ code: "42P07" });
    const { rows } = await fixture.pool.query("SELECT to_regclass('taken.meta') AS meta");
    expect(rows[0].meta).toBeNull();
  });

  it("looks anew in each statement of the claim", async () => {
    const { rows } = await fixture.pool.query("SELECT provolatile FROM pg_proc WHERE oid = 'samekey.claim'::regproc");
    expect(rows[0].provolatile).toBe("v");
  });

  it("tells of a stored answer whether its body was left out", async () => {
    await fixture.pool.query(
      `INSERT INTO samekey.keys (tenant, scope, key, fingerprint, status, headers, body, body_omitted)
        VALUES ('t', 's', 'oleft', '', 201, '[]', NULL, true), ('t', 's', 'okept', '', 201, '[]', 'x', false)`,
    );
    const claim = async (key: string) => {
      const { rows } = await fixture.pool.query("SELECT samekey.claim('t', 's', $1, NULL, '', 1, '0')", [key]);
      return JSON.parse(rows[0].claim);
    };
    expect(await claim("oleft")).toMatchObject({ body: null, omitted: true });
    expect(await claim("okept")).toMatchObject({ body: "eA==", omitted: false });
  });

  it("refuses a record without a tenant or a scope", async () => {
    const insert = (tenant: string | null, scope: string | null) =>
      fixture.pool.query(
        "INSERT INTO samekey.keys (tenant, scope, key, fingerprint, status, headers) VALUES ($1, $2, 'ok', '', 200, '[]')",
        [tenant, scope],
      );
    await expect(insert(null, "s")).rejects.toMatchObject({ code: "23502" });
    await expect(insert("", "s")).rejects.toMatchObject({ code: "23514" });
    await expect(insert("t", null)).rejects.toMatchObject({ code: "23502" });
    await expect(insert("t", "")).rejects.toMatchObject({ code: "23514" });
  });
});

// F110
describe("partitions", () => {
  it("hold each key once, at the edges of a day too", async () => {
    const midnight = Math.floor(Date.now() / day) * day;
    const times = [midnight - 1, midnight, midnight + 1, midnight + day - 1, midnight + day];
    const keys = [...times.map((msecs) => v7({ msecs })), randomUUID(), "odd~key", "7", "8", "p"];
    for (const key of keys) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => fixture.engine.run(request(key), effect())));
      expect(outcomes.filter(({ kind }) => kind === "executed")).toHaveLength(1);
      expect(await fixture.effects(key)).toBe(1);
    }
  });

  it("are days for v7 keys, one for all others, and none is a default", async () => {
    const key = v7();
    await fixture.engine.run(request(key), effect());
    const { rows } = await fixture.pool.query(
      "SELECT tableoid::regclass::text AS name FROM samekey.keys WHERE key = $1",
      [sortableKey(key)],
    );
    expect(rows[0].name).toBe(`samekey.${dayOf(Date.now())}`);
    const partitioned = await fixture.pool.query(
      "SELECT partdefid::int AS id FROM pg_partitioned_table WHERE partrelid = 'samekey.keys'::regclass",
    );
    expect(partitioned.rows[0].id).toBe(0);
  });

  it("are looked up one at a time, whatever plan Postgres keeps", async () => {
    for (const mode of ["force_generic_plan", "force_custom_plan"]) {
      const client = await fixture.pool.connect();
      try {
        await client.query(`SET plan_cache_mode = ${mode}`);
        await client.query(
          `PREPARE look (text, text, text) AS
             SELECT * FROM samekey.keys k WHERE k.tenant = $1 AND k.scope = $2 AND k.key = $3`,
        );
        const { rows } = await client.query(
          `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE look ('t', 's', '${sortableKey(v7())}')`,
        );
        const scans = JSON.stringify(rows).match(/"Relation Name":"[^"]+"/g);
        expect(scans).toHaveLength(1);
      } finally {
        client.release(true);
      }
    }
  });

  it("that nothing has asked for in days are made when they are asked for, with a pool of one too", async () => {
    const pool = makePool(fixture.url, 1);
    const engine = withSchema("asleep", pool);
    await engine.migrate();
    const { rows } = await pool.query(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'asleep.keys'::regclass",
    );
    for (const { name } of rows) if (!name.endsWith("opaque")) await pool.query(`DROP TABLE ${name}`);
    await pool.query("UPDATE asleep.meta SET horizon = $1", [keyBound(Date.now() - 10 * day)]);
    const keys = [v7(), v7()];
    const outcomes = await Promise.all(keys.map((key) => engine.run(request(key), effect())));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["executed", "executed"]);
    await pool.end();
  });

  it("that were dropped are never made again, and their keys are refused", async () => {
    const engine = withSchema("dropped");
    await engine.migrate();
    const midnight = Math.floor(Date.now() / day) * day;
    // From the day on which the window began: early in the morning that is the day before yesterday.
    const found = await fixture.pool.query(
      `SELECT relname FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
        WHERE inhparent = 'dropped.keys'::regclass AND relname LIKE $1`,
      [`keys_%${dayOf(midnight).slice(4, 13)}`],
    );
    const name = found.rows[0].relname;
    await fixture.pool.query(`DROP TABLE dropped.${name}`);
    await fixture.pool.query("UPDATE dropped.meta SET dropped_through = $1", [keyBound(midnight)]);
    await engine.migrate();
    expect((await engine.run(request(v7({ msecs: midnight - 1 })), () => expect.unreachable())).status).toBe(410);
    const { rows } = await fixture.pool.query("SELECT to_regclass($1) AS made", [`dropped.${name}`]);
    expect(rows[0].made).toBeNull();
  });
});
