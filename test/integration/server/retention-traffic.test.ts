import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sortableKey } from "../../../src/server/key.js";
import { sessionsOf } from "../../../src/server/sessions/open.js";
import type { Session, Sessions } from "../../../src/server/sessions/session.js";
import { created, effect, type Fixture, gate, makePool, request, startFixture } from "./fixture.js";
import { day, type Life, startLife } from "./life.js";

let fixture: Fixture;
let schemas = 0;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

/** Days of keys, all of which are due but today's. */
async function lived(): Promise<Life> {
  schemas += 1;
  const life = await startLife(fixture, `traffic_${schemas}`, Date.now() - 12 * day);
  for (let days = 12; days > 2; days -= 1) {
    await life.at(Date.now() - days * day);
    for (const key of [v7({ msecs: life.now() }), randomUUID()]) await life.engine.run(request(key), effect());
  }
  await life.at(Date.now());
  return life;
}

const backends = async (life: Life, condition: string): Promise<number> => {
  const { rows } = await fixture.pool.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${condition} AND query LIKE $1 AND pid <> pg_backend_pid()`,
    [`%${life.schema}"%`],
  );
  return rows[0].n;
};

/** Claims, as fast as they come, until it is told to stop. */
function traffic(life: Life): { stop(): Promise<string[]> } {
  let going = true;
  const kinds: string[] = [];
  const loops = Array.from({ length: 6 }, async (_, index) => {
    while (going) {
      const key = index % 3 === 0 ? randomUUID() : v7();
      for (let count = 0; count < 2; count += 1) kinds.push((await life.engine.run(request(key), effect())).kind);
    }
  });
  return {
    stop: async () => {
      going = false;
      await Promise.all(loops);
      return kinds;
    },
  };
}

/** Looks again and again whether a claim or an insert waits for a lock. */
function watch(life: Life): { stop(): Promise<number> } {
  let going = true;
  let seen = 0;
  const loop = (async () => {
    while (going) seen += await backends(life, "wait_event_type = 'Lock' AND query ~ 'claim|INSERT'");
  })();
  return {
    stop: async () => {
      going = false;
      await loop;
      return seen;
    },
  };
}

// F111
describe("claims, while the retention job runs,", () => {
  it("neither fail nor wait, also while something old keeps it from detaching", async () => {
    const life = await lived();
    const jobs = makePool(fixture.url, 1);
    const db = sessionsOf(jobs) as Sessions;
    const claims = traffic(life);
    const watcher = watch(life);
    const slow = gate();
    const handling = life.engine.run(request(v7()), async () => {
      await slow.passed;
      return created;
    });
    await vi.waitFor(async () => expect(await backends(life, "state = 'idle in transaction'")).toBeGreaterThan(0));

    const held = await life.run({ db, patience: 200 });
    expect(held.dropped).toEqual([]);
    expect(held.waiting.length).toBeGreaterThan(5);
    expect(held.expired).toBeGreaterThan(0);
    slow.open();
    expect((await handling).kind).toBe("executed");

    await vi.waitFor(async () => expect((await life.run({ db, patience: 5_000 })).waiting).toEqual([]), {
      timeout: 30_000,
    });
    const kinds = await claims.stop();
    expect(await watcher.stop()).toBe(0);
    expect(new Set(kinds)).toEqual(new Set(["executed", "replayed"]));
    expect(kinds.length).toBeGreaterThan(50);
    expect((await life.engine.retentionStatus()).lag).toBe(0);
    await jobs.end();
  });

  it("are not held up by a reader of an old partition, such as a backup; the job gives up", async () => {
    const life = await lived();
    const [oldest] = await life.partitions();
    const reader = await fixture.pool.connect();
    try {
      await reader.query(`BEGIN; LOCK TABLE ${life.schema}.${oldest} IN ACCESS SHARE MODE`);
      const watcher = watch(life);
      const claims = traffic(life);
      const jobs = makePool(fixture.url, 1);
      const report = await life.run({ db: sessionsOf(jobs) as Sessions, patience: 500 });
      expect(report.waiting[0]).toBe(oldest);
      const kinds = await claims.stop();
      expect(await watcher.stop()).toBe(0);
      expect(new Set(kinds)).toEqual(new Set(["executed", "replayed"]));
      expect((await life.engine.run(request(v7({ msecs: Date.now() - 12 * day })), effect())).status).toBe(410);
      await reader.query("ROLLBACK");
      await jobs.end();
    } finally {
      reader.release(true);
    }
    await vi.waitFor(async () => expect((await life.run()).waiting).toEqual([]), { timeout: 20_000 });
  });

  it("never run a key whose row is being deleted and not yet gone", async () => {
    const life = await lived();
    const key = "on its way out".replaceAll(" ", "-");
    await life.at(Date.now() - 9 * day);
    await life.engine.run(request(key), effect());
    await life.at(Date.now() - 6 * day);
    await life.run();
    await life.at(Date.now());
    const deleted = gate();
    const commit = gate();
    const pausing = (session: Session): Session =>
      Object.assign(Object.create(session) as Session, {
        query: async (text: string, values?: unknown[]) => {
          const result = await session.query(text, values);
          if (!text.includes("DELETE FROM")) return result;
          deleted.open();
          await commit.passed;
          return result;
        },
        begin: (settings?: string) => session.begin(settings),
        commit: () => session.commit(),
        rollback: () => session.rollback(),
        release: (destroy?: boolean) => session.release(destroy),
      });
    const pool = sessionsOf(fixture.pool) as Sessions;
    const running = life.run({ db: { connect: async () => pausing(await pool.connect()) } });
    await deleted.passed;
    const before = await fixture.effects(key);
    for (let count = 0; count < 5; count += 1) {
      expect((await life.engine.run(request(key), () => expect.unreachable())).status).toBe(410);
    }
    commit.open();
    expect((await running).forgotten).toBeGreaterThan(0);
    expect(await fixture.effects(key)).toBe(before);
    const { rows } = await fixture.pool.query(`SELECT 1 FROM ${life.schema}.keys WHERE key = $1`, [sortableKey(key)]);
    expect(rows).toEqual([]);
  });
});
