import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency, type Handler, type Idempotency, type RunOptions } from "../../../src/server/index.js";
import { sortableKey } from "../../../src/server/key.js";
import { drivers, type OpenDriver } from "./drivers.js";
import { created, effectOn, errorOf, type Fixture, gate, header, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
  await fixture.pool.query("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)");
  await fixture.pool.query("INSERT INTO accounts VALUES (1, 0), (2, 0)");
}, 60_000);

afterAll(() => fixture.stop());

/** Loses a transaction as the database would take it from a handler. */
const losing = (state: string): string => `DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '${state}'; END $$`;

describe.each(drivers)("on $name, a handler", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;
  let runs = 0;

  beforeAll(() => {
    opened = driver.open(fixture.url);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
  });

  afterAll(() => opened.end());

  /** Has its effect, and then loses its transaction, `times` times. */
  const unlucky = (state: string, times: number): Handler<unknown> => {
    runs = 0;
    return async (execution) => {
      runs += 1;
      await effectOn(opened)(execution);
      if (runs <= times) await opened.query(execution.tx, losing(state));
      return created;
    };
  };

  it.each(["40001", "40P01"])(
    "that loses its transaction (%s) is run again, and has its effect once",
    async (state) => {
      const key = v7();
      expect(await engine.run(request(key), unlucky(state, 2))).toMatchObject({ kind: "executed", status: 201 });
      expect(runs).toBe(3);
      expect(await fixture.effects(key)).toBe(1);
    },
  );

  it("that always loses is given up: 503, unmarked, nothing stored, and the key runs again", async () => {
    const key = v7();
    const outcome = await engine.run(request(key), unlucky("40001", Number.POSITIVE_INFINITY));
    expect(outcome).toMatchObject({ kind: "unavailable", status: 503 });
    expect(errorOf(outcome)).toBe("contention");
    expect(header(outcome, "retry-after")).toBe("1");
    expect(header(outcome, "idempotency-status")).toBeUndefined();
    expect(runs).toBe(4);
    expect(await fixture.effects(key)).toBe(0);
    expect((await engine.run(request(key), effectOn(opened))).kind).toBe("executed");
  });

  it.each<[string, string | undefined, RunOptions]>([
    ["under a key", v7(), { rerun: false }],
    ["without one", undefined, { rerun: false, required: false }],
  ])("that may not be run again is not, %s: 503 at once", async (_, key, options) => {
    const outcome = await engine.run(request(key), unlucky("40P01", 1), options);
    expect(errorOf(outcome)).toBe("contention");
    expect(runs).toBe(1);
  });

  it("that may not be run again is told of the answer that took its key meanwhile", async () => {
    const key = v7();
    const thief: Handler<unknown> = async (execution) => {
      await effectOn(opened)(execution);
      await fixture.pool.query(
        `INSERT INTO samekey.keys (tenant, scope, key, fingerprint, status, headers, body)
         VALUES ('acct_1', 'effects', $1, $2, 202, '[]', 'theirs')`,
        [sortableKey(key), request(key).fingerprint],
      );
      return created;
    };
    expect(await engine.run(request(key), thief, { rerun: false })).toMatchObject({ kind: "replayed", status: 202 });
    expect(await fixture.effects(key)).toBe(0);
  });

  it("caught in a deadlock with another one lets it pass and is run again", async () => {
    const [oneHas, otherHas] = [gate(), gate()];
    const take = (has: typeof oneHas, first: number, waitFor: typeof oneHas, second: number): Handler<unknown> => {
      return async (execution) => {
        const add = "UPDATE accounts SET balance = balance + 1 WHERE id = $1";
        await opened.query(execution.tx, add, [first]);
        has.open();
        await waitFor.passed;
        await opened.query(execution.tx, add, [second]);
        return effectOn(opened)(execution);
      };
    };
    const keys = [v7(), v7()] as const;
    const balances = async (): Promise<number> =>
      (await fixture.pool.query("SELECT sum(balance)::int AS sum FROM accounts")).rows[0].sum;
    const before = await balances();
    const outcomes = await Promise.all([
      engine.run(request(keys[0]), take(oneHas, 1, otherHas, 2)),
      engine.run(request(keys[1]), take(otherHas, 2, oneHas, 1)),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["executed", "executed"]);
    expect(await Promise.all(keys.map(fixture.effects))).toEqual([1, 1]);
    expect(await balances()).toBe(before + 4);
  });
});
