import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintedAt, sortableKey } from "../../../src/server/key.js";
import { schemaVersion } from "../../../src/server/schema-state.js";
import { effect, type Fixture, request, startFixture } from "./fixture.js";
import { day, startLife } from "./life.js";

let fixture: Fixture;
let schemas = 0;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const begin = (time: number) => {
  schemas += 1;
  return startLife(fixture, `edge_${schemas}`, time);
};

// F110
describe("a key has one effect, from twenty requests on both sides of", () => {
  it.each([
    ["midnight", Date.UTC(2027, 4, 6)],
    ["the end of a month", Date.UTC(2027, 5, 1)],
    ["the end of a year", Date.UTC(2028, 0, 1)],
    ["the start of a leap day", Date.UTC(2028, 1, 29)],
    ["the end of a leap day", Date.UTC(2028, 2, 1)],
  ])("%s", async (_, edge) => {
    const life = await begin(edge - 60_000);
    const v7s = [edge - 1, edge, edge + 1].map((msecs) => v7({ msecs }));
    const keys = [...v7s, randomUUID(), "odd~key", "7", "8", "o", "p"].map((key) => `${key}`);
    const tenAt = async (time: number, key: string) => {
      await life.at(time);
      return Promise.all(Array.from({ length: 10 }, () => life.engine.run(request(key), effect())));
    };
    for (const key of keys) {
      const before = await fixture.effects(key);
      const outcomes = [...(await tenAt(edge - 1000, key)), ...(await tenAt(edge + 1000, key))];
      expect(outcomes.filter(({ kind }) => kind === "executed")).toHaveLength(1);
      expect(outcomes.every(({ kind }) => /executed|replayed|in_progress/.test(kind))).toBe(true);
      expect(await fixture.effects(key)).toBe(before + 1);
    }
    const { rows } = await fixture.pool.query(
      `SELECT tableoid::regclass::text AS name FROM ${life.schema}.keys WHERE key = ANY($1) ORDER BY key`,
      [v7s.map(sortableKey)],
    );
    const date = new Date(edge).toISOString().slice(0, 10).replaceAll("-", "");
    expect(rows[0].name).toMatch(new RegExp(`_${date}$`));
    for (const { name } of rows.slice(1)) expect(name).toContain(`keys_${date}_`);
  });
});

describe("a claim", () => {
  it.each(["auto", "force_generic_plan", "force_custom_plan"])(
    "locks its key's partition and no other, however often it was planned (plan_cache_mode %s)",
    async (mode) => {
      const life = await begin(Date.now() - 5 * day);
      await life.at(Date.now());
      await life.run();
      expect((await life.partitions()).length).toBeGreaterThan(5);
      const client = await fixture.pool.connect();
      try {
        await client.query(`SET plan_cache_mode = ${mode}`);
        const held = async (key: string): Promise<string[]> => {
          await client.query("BEGIN");
          const claimed = [life.schema, sortableKey(key)] as const;
          await client.query(`SELECT ${life.schema}.claim('t', 's', $1, $2, '', ${schemaVersion}, '0')`, [
            claimed[1],
            mintedAt(claimed[1]),
          ]);
          const { rows } = await client.query(
            `SELECT c.relname AS name FROM pg_locks JOIN pg_class c ON c.oid = relation
              WHERE pid = pg_backend_pid() AND relnamespace = $1::regnamespace AND relkind IN ('r', 'p') ORDER BY 1`,
            [life.schema],
          );
          await client.query("ROLLBACK");
          return rows.map(({ name }) => name);
        };
        const now = Date.now();
        for (const key of [
          v7({ msecs: now }),
          v7({ msecs: now - 0.9 * day }),
          v7({ msecs: now + day }),
          randomUUID(),
        ]) {
          for (let count = 0; count < 8; count += 1) await held(key);
          const [keys, partition, meta, ...others] = await held(key);
          expect([keys, meta, others]).toEqual(["keys", "meta", []]);
          const outcome = await life.engine.run(request(key), effect());
          expect(outcome.kind).toBe("executed");
          const { rows } = await fixture.pool.query(
            `SELECT tableoid::regclass::text AS name FROM ${life.schema}.keys WHERE key = $1`,
            [sortableKey(key)],
          );
          expect(rows[0].name).toBe(`${life.schema}.${partition}`);
        }
      } finally {
        client.release(true);
      }
    },
  );
});
