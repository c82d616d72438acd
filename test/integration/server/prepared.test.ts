import pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createIdempotency } from "../../../src/server/index.js";
import { created, effect, type Fixture, request, startFixture } from "./fixture.js";

let fixture: Fixture;
let pool: pg.Pool;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const engineOn = (schema?: string) => createIdempotency({ db: pool, retention: "24h", schema });

/** What is prepared on the pool's only connection, and how often it was run. */
async function prepared(): Promise<Record<string, number>> {
  const { rows } = await pool.query(
    "SELECT name, (generic_plans + custom_plans)::int AS runs FROM pg_prepared_statements ORDER BY name",
  );
  return Object.fromEntries(rows.map(({ name, runs }) => [name.replace(/_[0-9a-f]+$/, ""), runs]));
}

/** How often each was run since the second request, which prepares them: the first one finds out whether it may. */
const each = (runs: number): Record<string, number> => ({
  samekey_begin: runs,
  samekey_claim: runs,
  samekey_commit: runs,
  samekey_record: runs,
});

describe.each([false, true])("samekey's own four statements on pg (pipeline: %s)", (pipeline) => {
  beforeEach(() => {
    pool = new pg.Pool({ connectionString: fixture.url, max: 1, pipeline });
    pool.on("error", () => {});
    return () => pool.end();
  });

  it("are prepared once for each connection, all of them from the second request on", async () => {
    const engine = engineOn();
    await engine.run(request(v7()), effect());
    expect(await prepared()).toEqual({ samekey_commit: 1, samekey_record: 1 });
    for (let run = 1; run <= 3; run += 1) {
      expect((await engine.run(request(v7()), effect())).kind).toBe("executed");
      expect(await prepared()).toEqual(each(run));
    }
  });

  it("are prepared anew where they are gone, and nothing runs twice for it", async () => {
    const engine = engineOn();
    const [first, second] = [v7(), v7()];
    await engine.run(request(v7()), effect());
    await engine.run(request(first), effect());
    expect(await prepared()).toEqual(each(1));
    await pool.query("DEALLOCATE ALL");
    expect((await engine.run(request(second), effect())).kind).toBe("executed");
    expect((await engine.run(request(v7()), effect())).kind).toBe("executed");
    expect(await prepared()).toEqual(each(1));
    await pool.query("DEALLOCATE ALL");
    expect((await engine.run(request(first), () => expect.unreachable())).kind).toBe("replayed");
    expect((await engine.run(request(v7()), effect())).kind).toBe("executed");
    expect([await fixture.effects(first), await fixture.effects(second)]).toEqual([1, 1]);
  });

  it("may be done away with before every request: none fails for it", async () => {
    const engine = engineOn();
    for (const statement of ["DISCARD ALL", "DEALLOCATE ALL"]) {
      for (let run = 1; run <= 5; run += 1) {
        const key = v7();
        expect((await engine.run(request(key), effect())).kind).toBe("executed");
        expect(await fixture.effects(key)).toBe(1);
        await pool.query(statement);
        expect((await engine.run(request(key), () => expect.unreachable())).kind).toBe("replayed");
      }
    }
  });

  it.each([
    ["DEALLOCATE ALL", () => "DEALLOCATE ALL"],
    ["DEALLOCATE of the commit alone", () => "DEALLOCATE samekey_commit"],
    ["DEALLOCATE of the record alone", (record: string) => `DEALLOCATE ${record}`],
    ["DEALLOCATE behind another statement", () => "SELECT 1; DEALLOCATE ALL"],
    ["DEALLOCATE within a block", () => "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"],
    ["a function of the database's that says DEALLOCATE ALL", () => "SELECT forget('ALL')"],
    ["a function of the database's that says DEALLOCATE of the commit alone", () => "SELECT forget('samekey_commit')"],
  ])("may be done away with by a handler: %s", async (_, statementFor) => {
    await pool.query(`CREATE OR REPLACE FUNCTION forget(what text) RETURNS void LANGUAGE plpgsql AS
      $$ BEGIN EXECUTE 'DEALLOCATE ' || what; END $$`);
    const engine = engineOn();
    for (let run = 1; run <= 2; run += 1) await engine.run(request(v7()), effect());
    const { rows } = await pool.query("SELECT name FROM pg_prepared_statements WHERE name LIKE 'samekey_record%'");
    const statement = statementFor(rows[0].name);
    for (let run = 1; run <= 4; run += 1) {
      const key = v7();
      const outcome = await engine.run(request(key), async (execution) => {
        // Another time it may not be there: that is the handler's own affair.
        await execution.tx.query("SAVEPOINT here");
        await execution.tx.query(statement).catch(() => execution.tx.query("ROLLBACK TO here"));
        return effect()(execution);
      });
      expect(outcome.kind).toBe("executed");
      expect(await fixture.effects(key)).toBe(1);
      expect((await engine.run(request(key), () => expect.unreachable())).kind).toBe("replayed");
      const after = v7();
      expect((await engine.run(request(after), effect())).kind).toBe("executed");
      expect(await fixture.effects(after)).toBe(1);
    }
  });

  it("cost a handler that may not run again one 503 where a function does away with them, and no more", async () => {
    await pool.query(`CREATE OR REPLACE FUNCTION forget(what text) RETURNS void LANGUAGE plpgsql AS
      $$ BEGIN EXECUTE 'DEALLOCATE ' || what; END $$`);
    const engine = engineOn();
    for (let run = 1; run <= 2; run += 1) await engine.run(request(v7()), effect());
    const key = v7();
    const kinds: string[] = [];
    for (let run = 1; run <= 3; run += 1) {
      const forgetful = async (execution: Parameters<ReturnType<typeof effect>>[0]) => {
        await execution.tx.query("SELECT forget('ALL')");
        return effect()(execution);
      };
      kinds.push((await engine.run(request(run === 3 ? v7() : key), forgetful, { rerun: false })).kind);
    }
    expect(kinds).toEqual(["unavailable", "executed", "executed"]);
    expect(await fixture.effects(key)).toBe(1);
  });

  it("are still right after a request that failed at its look", async () => {
    const [engine, missing] = [engineOn(), engineOn("missing")];
    for (let run = 1; run <= 3; run += 1) {
      await expect(missing.run(request(v7()), effect())).rejects.toMatchObject({ name: "StoreError" });
      const key = v7();
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
      expect(await fixture.effects(key)).toBe(1);
    }
    expect(Object.keys(await prepared()).toSorted()).toEqual(Object.keys(each(1)));
  });

  it("are still right after a record that was not taken", async () => {
    const engine = engineOn();
    await pool.query("CREATE TABLE IF NOT EXISTS late (key text UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    const spoiled = [
      ["the insert", "ALTER TABLE samekey.keys ADD CONSTRAINT never CHECK (status <> 299) NOT VALID", { status: 299 }],
    ] as const;
    for (const [, ddl, answer] of spoiled) {
      await pool.query(ddl);
      for (let run = 1; run <= 3; run += 1) {
        const [lost, kept] = [v7(), v7()];
        // A check that fails is taken for a partition that has gone, and looked at again.
        expect((await engine.run(request(lost), effect({ ...created, ...answer }))).kind).toBe("unavailable");
        expect((await engine.run(request(kept), effect())).kind).toBe("executed");
        expect([await fixture.effects(lost), await fixture.effects(kept)]).toEqual([0, 1]);
      }
      await pool.query("ALTER TABLE samekey.keys DROP CONSTRAINT never");
    }
    for (let run = 1; run <= 3; run += 1) {
      const [lost, kept] = [v7(), v7()];
      const twice = engine.run(request(lost), async (execution) => {
        await execution.tx.query("INSERT INTO late VALUES ('taken'), ('taken')");
        return effect()(execution);
      });
      await expect(twice).rejects.toMatchObject({ code: "23505" });
      expect((await engine.run(request(kept), effect())).kind).toBe("executed");
      expect([await fixture.effects(lost), await fixture.effects(kept)]).toEqual([0, 1]);
    }
  });

  it("take the place of what another program has prepared under their names", async () => {
    for (let run = 1; run <= 2; run += 1) await engineOn().run(request(v7()), effect());
    const { rows } = await pool.query("SELECT name FROM pg_prepared_statements");
    expect(rows).toHaveLength(4);
    await pool.end();
    pool = new pg.Pool({ connectionString: fixture.url, max: 1, pipeline });
    pool.on("error", () => {});
    for (const { name } of rows) await pool.query({ name: `x${name}`, text: `PREPARE ${name} AS SELECT 1` });
    for (let run = 1; run <= 3; run += 1) {
      expect((await engineOn().run(request(v7()), effect())).kind).toBe("executed");
    }
  });

  it("are each schema's own", async () => {
    const [one, other] = [engineOn(), engineOn("other")];
    await other.migrate();
    const key = v7();
    expect((await one.run(request(key), () => created)).kind).toBe("executed");
    expect((await other.run(request(key), () => created)).kind).toBe("executed");
    expect((await one.run(request(key), () => expect.unreachable())).kind).toBe("replayed");
    for (const engine of [one, other]) await engine.run(request(v7()), () => created);
    const { rows } = await pool.query("SELECT FROM pg_prepared_statements");
    expect(rows).toHaveLength(6);
  });
});
