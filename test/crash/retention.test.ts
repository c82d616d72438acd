import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { effect, type Fixture, request, startFixture } from "../integration/server/fixture.js";
import { day, type Life, startLife } from "../integration/server/life.js";
import { type Bundle, bundle } from "../support/bundle.js";
import { startChild } from "../support/child.js";
import type { RetentionProgram } from "./retention-told.js";

let fixture: Fixture;
let program: Bundle;
let schemas = 0;

beforeAll(async () => {
  fixture = await startFixture();
  program = await bundle(new URL("retention-program.ts", import.meta.url));
});

afterAll(async () => {
  await program?.remove();
  await fixture?.stop();
});

const old = "old-opaque";
const older = "older-opaque";
const kindOf = async (life: Life, key: string) => (await life.engine.run(request(key), effect())).kind;
const rows = async (sql: string, ...values: unknown[]) => (await fixture.pool.query(sql, values)).rows;

/** Ten days of life, after which the job has everything to do: make, drop, expire `old`, forget `older`. */
async function lived(): Promise<{ life: Life; key: string }> {
  schemas += 1;
  const life = await startLife(fixture, `crash_${schemas}`, Date.now() - 10 * day);
  const begin = life.now();
  const key = v7({ msecs: begin });
  for (const each of [key, older]) expect(await kindOf(life, each)).toBe("executed");
  await life.at(begin + 1.5 * day);
  await life.run();
  await life.at(begin + 4 * day);
  expect(await kindOf(life, old)).toBe("executed");
  await life.at(Date.now());
  return { life, key };
}

function start(life: Life, before: string, thenCommit = false) {
  const options: RetentionProgram = { url: fixture.url, schema: life.schema, before, thenCommit };
  return startChild<string>(program.path, { args: [JSON.stringify(options)] });
}

/** Runs the job until nothing is left to do, and looks whether everything is right. */
async function expectWhole(life: Life, key: string): Promise<void> {
  await vi.waitFor(
    async () => {
      await life.run();
      expect(await life.run()).toEqual({ made: [], dropped: [], waiting: [], expired: 0, forgotten: 0 });
    },
    { timeout: 20_000 },
  );
  const left = await rows(`SELECT key, expired_at IS NOT NULL AS expired FROM ${life.schema}.keys WHERE key >= 'o'`);
  expect(left).toEqual([{ key: `o${old}`, expired: true }]);

  const { bounds, names, dropped_through, horizon } = await layout(life);
  for (const [index, [from]] of bounds.entries()) if (index > 0) expect(from).toBe(bounds[index - 1]?.[1]);
  expect([bounds[0]?.[0], bounds.at(-1)?.[1]]).toEqual([dropped_through, horizon]);
  expect(await life.partitions()).toEqual(names);

  for (const gone of [key, old]) {
    expect((await life.engine.run(request(gone), () => expect.unreachable())).status).toBe(410);
  }
  expect(await kindOf(life, v7())).toBe("executed");
  expect(await fixture.effects(key)).toBe(1);
}

/** The partitions that are attached, and the marks. */
async function layout(life: Life) {
  const [marks] = await rows(`SELECT dropped_through, horizon FROM ${life.schema}.meta`);
  const attached = await rows(
    `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
      WHERE inhparent = $1::regclass AND NOT inhdetachpending AND c.relname <> 'keys_opaque' ORDER BY c.relname`,
    `${life.schema}.keys`,
  );
  const bounds = attached.map(({ bounds }) => /'(.+)'.*'(.+)'/.exec(bounds)?.slice(1) ?? []);
  return { ...marks, bounds, names: attached.map(({ name }) => name) };
}

describe("a retention job that is killed", () => {
  it.each<[string, string, boolean?]>([
    ["before it makes a partition", "ATTACH PARTITION"],
    ["before the partitions are committed", "ATTACH PARTITION", true],
    ["before its mark", "dropped_through = greatest"],
    ["before the mark is committed", "dropped_through = greatest", true],
    ["after the mark, before the detach", "CONCURRENTLY"],
    ["after the detach, before the drop", "DROP TABLE"],
    ["before the drop is committed", "DROP TABLE", true],
    ["before it expires an opaque key", "SET body = NULL"],
    ["before that is committed", "SET body = NULL", true],
    ["before it forgets an opaque key", "DELETE FROM"],
    ["before it is forgotten", "DELETE FROM", true],
  ])("%s leaves the next one to finish", async (_, before, thenCommit) => {
    const { life, key } = await lived();
    const child = start(life, before, thenCommit);
    await child.told((message) => message === "stands");
    await child.crash();
    // Whatever is detached was marked before.
    const { bounds, dropped_through } = await layout(life);
    expect(bounds[0]?.[0] <= dropped_through).toBe(true);
    expect((await life.engine.run(request(key), () => expect.unreachable())).status).toBe(410);
    await expectWhole(life, key);
  });

  it("in the middle of a detach leaves the next one to finish it", async () => {
    const { life, key } = await lived();
    const holder = await fixture.pool.connect();
    const pending = () =>
      rows("SELECT 1 FROM pg_inherits WHERE inhparent = $1::regclass AND inhdetachpending", `${life.schema}.keys`);
    try {
      await holder.query(`BEGIN; LOCK TABLE ONLY ${life.schema}.keys IN ACCESS SHARE MODE`);
      const child = start(life, "nothing");
      await vi.waitFor(async () => expect(await pending()).toHaveLength(1), { timeout: 20_000 });
      await child.crash();
      // Its backend would go on by itself.
      await rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid()",
        `%"${life.schema}"%CONCURRENTLY`,
      );
    } finally {
      holder.release(true);
    }
    expect(await pending()).toHaveLength(1);
    expect(await kindOf(life, v7())).toBe("executed");
    await expectWhole(life, key);
  });
});
