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

/** How often each was run: the first request finds out whether it may prepare, and its end is prepared already. */
const each = (runs: number): Record<string, number> => ({
  samekey_begin: runs,
  samekey_claim: runs,
  samekey_commit: runs + 1,
  samekey_record: runs + 1,
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
