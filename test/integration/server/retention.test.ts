import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sortableKey } from "../../../src/server/key.js";
import { effect, errorOf, type Fixture, request, startFixture } from "./fixture.js";
import { day, type Life, startLife } from "./life.js";

let fixture: Fixture;
let schemas = 0;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const begin = (): Promise<Life> => {
  schemas += 1;
  return startLife(fixture, `life_${schemas}`);
};
const never = () => expect.unreachable("the handler ran");
const kindOf = async (life: Life, key: string) => (await life.engine.run(request(key), effect())).kind;

describe("the retention job", () => {
  it("drops what is past the window and keeps what is promised", async () => {
    const life = await begin();
    const start = life.now();
    const key = v7({ msecs: start });
    expect(await kindOf(life, key)).toBe("executed");

    await life.at(start + 1.05 * day);
    await life.run();
    expect(await kindOf(life, key)).toBe("replayed");

    await life.at(start + 2.2 * day);
    const report = await life.run();
    expect(report.dropped.length).toBeGreaterThan(0);
    expect(report.waiting).toEqual([]);
    const outcome = await life.engine.run(request(key), never);
    expect(outcome.status).toBe(410);
    expect(errorOf(outcome)).toBe("idempotency_key_expired");
    expect(await life.partitions()).not.toEqual(expect.arrayContaining([...report.dropped]));
    expect(await kindOf(life, v7({ msecs: life.now() }))).toBe("executed");
  });

  it("makes partitions ahead, without a gap, and does nothing twice", async () => {
    const life = await begin();
    await life.at(life.now() + 20 * day);
    const report = await life.run();
    expect(report.made.length).toBeGreaterThan(1);
    const partitions = await life.partitions();
    for (const [index, name] of partitions.entries()) {
      if (index > 0) expect(name.split("_")[1]).toBe(partitions[index - 1]?.split("_")[2]);
    }
    expect(await life.run()).toEqual({ made: [], dropped: [], waiting: [], expired: 0, forgotten: 0 });
  });

  it("never runs a key again when the retention is lowered and restored", async () => {
    const life = await begin();
    const start = life.now();
    const keys = [v7({ msecs: start }), randomUUID(), "odd~key"];
    for (const key of keys) expect(await kindOf(life, key)).toBe("executed");
    const unused = v7({ msecs: start });

    await life.withRetention("7d");
    await life.at(start + 3 * day);
    await life.run();
    for (const key of keys) expect(await kindOf(life, key)).toBe("replayed");

    await life.withRetention("1h");
    await life.run();
    for (const key of [...keys, unused]) expect((await life.engine.run(request(key), never)).status).toBe(410);
    await life.at(start + 4 * day);
    await life.run();

    await life.withRetention("7d");
    for (const key of [...keys, unused]) expect((await life.engine.run(request(key), never)).status).toBe(410);
    await life.run();
    for (const key of [...keys, unused]) expect((await life.engine.run(request(key), never)).status).toBe(410);
    expect(await kindOf(life, v7({ msecs: life.now() }))).toBe("executed");
  });

  it("keeps refusing what a narrower window has refused, though nothing was dropped", async () => {
    const life = await begin();
    const start = life.now();
    const unused = v7({ msecs: start });
    await life.at(start + 0.2 * day);
    await life.withRetention("1h");
    expect((await life.engine.run(request(unused), never)).status).toBe(410);
    await life.withRetention("24h");
    expect((await life.engine.run(request(unused), never)).status).toBe(410);
  });

  it("drops nothing because the database's clock jumped ahead", async () => {
    const life = await begin();
    const start = life.now();
    const keys = [v7({ msecs: start }), randomUUID()];
    for (const key of keys) expect(await kindOf(life, key)).toBe("executed");
    await life.databaseAt(start + 30 * day);
    expect(await life.run()).toEqual({ made: [], dropped: [], waiting: [], expired: 0, forgotten: 0 });
    for (const key of keys) expect((await life.engine.run(request(key), never)).status).toBe(410);
    await life.databaseAt(start);
    for (const key of keys) expect((await life.engine.run(request(key), never)).kind).toBe("replayed");
  });

  it("runs no key again when both clocks jumped ahead and came back", async () => {
    const life = await begin();
    const start = life.now();
    const keys = [v7({ msecs: start }), randomUUID()];
    for (const key of keys) expect(await kindOf(life, key)).toBe("executed");
    await life.at(start + 30 * day);
    expect((await life.run()).dropped.length).toBeGreaterThan(0);
    await life.at(start);
    await life.run();
    for (const key of keys) expect((await life.engine.run(request(key), never)).status).toBe(410);
    expect(await kindOf(life, randomUUID())).toBe("executed");
  });

  it("does not forget an opaque key that was stored while the clock was days behind", async () => {
    const life = await begin();
    const start = life.now();
    const key = randomUUID();
    await life.databaseAt(start - 10 * day);
    expect(await kindOf(life, key)).toBe("executed");
    await life.databaseAt(start);
    for (const hours of [0, 1, 20]) {
      await life.at(start + (hours / 24) * day);
      await life.run();
      expect((await life.engine.run(request(key), never)).status).toBe(410);
    }
  });

  it("does no harm where several run at once", async () => {
    const life = await begin();
    const key = v7({ msecs: life.now() });
    expect(await kindOf(life, key)).toBe("executed");
    await fixture.pool.query(
      `INSERT INTO ${life.schema}.keys (tenant, scope, key, fingerprint, status, headers)
        SELECT 't', 's', 'o' || n, '', 200, '[]' FROM generate_series(1, 900) n`,
    );
    await life.at(life.now() + 9 * day);
    const reports = await Promise.all(Array.from({ length: 4 }, () => life.run()));
    await vi.waitFor(async () => expect((await life.run()).waiting).toEqual([]), { timeout: 20_000 });
    const { rows } = await fixture.pool.query(
      `SELECT count(*)::int AS expired FROM ${life.schema}.keys WHERE expired_at IS NOT NULL`,
    );
    expect(rows).toEqual([{ expired: 900 }]);
    expect(reports.reduce((sum, { expired }) => sum + expired, 0)).toBeLessThanOrEqual(900);
    expect((await life.engine.run(request(key), never)).status).toBe(410);
  });

  it("says how the promise is kept", async () => {
    const life = await begin();
    const window = Math.ceil(day * 1.1);
    const fresh = await life.engine.retentionStatus();
    expect(fresh).toMatchObject({ promised: window, kept: window, lag: 0 });
    expect(fresh.ahead).toBeGreaterThanOrEqual(6);

    const wider = await life.withRetention("7d");
    const early = await wider.retentionStatus();
    expect(early.kept).toBeLessThan(early.promised);
    await life.withRetention("24h");

    await life.at(life.now() + 4 * day);
    const behind = await life.engine.retentionStatus();
    expect(behind.lag).toBeGreaterThan(day);
    await life.run();
    expect(await life.engine.retentionStatus()).toMatchObject({ lag: 0, kept: window });
  });

  it("runs in the server, tells of each run, and stops when it is told to", async () => {
    const life = await begin();
    const reports: unknown[] = [];
    const stop = life.engine.startRetention({ every: "1s", onReport: (report) => reports.push(report) });
    await vi.waitFor(() => expect(reports.length).toBeGreaterThan(1), { timeout: 10_000 });
    await stop();
    await fixture.pool.query(`DROP SCHEMA ${life.schema} CASCADE`);
    const errors: unknown[] = [];
    const stopOther = life.engine.startRetention({ every: "1s", onError: (error) => errors.push(error) });
    await vi.waitFor(() => expect(errors[0]).toMatchObject({ code: "unavailable" }), { timeout: 10_000 });
    await stopOther();
    expect(() => life.engine.startRetention({ every: "1ms" })).toThrow("`every`");
  });
});

describe("an opaque key", () => {
  it("is answered 410 past the window, without its answer, and forgotten only after twice the window", async () => {
    const life = await begin();
    const start = life.now();
    const key = randomUUID();
    expect(await kindOf(life, key)).toBe("executed");
    const row = async () =>
      (await fixture.pool.query(`SELECT * FROM ${life.schema}.keys WHERE key = $1`, [sortableKey(key)])).rows[0];

    await life.at(start + 1.2 * day);
    expect((await life.engine.run(request(key), never)).status).toBe(410);
    expect(await life.run()).toMatchObject({ expired: 1, forgotten: 0 });
    expect(await row()).toMatchObject({ body: null, headers: "[]" });
    expect((await life.engine.run(request(key), never)).status).toBe(410);

    await life.at(start + 2.15 * day);
    expect(await life.run()).toMatchObject({ expired: 0, forgotten: 0 });
    expect((await life.engine.run(request(key), never)).status).toBe(410);

    await life.at(start + 2.4 * day);
    expect(await life.run()).toMatchObject({ expired: 0, forgotten: 1 });
    expect(await row()).toBeUndefined();
  });

  it("is left alone while a request under it is being answered", async () => {
    const life = await begin();
    const start = life.now();
    const key = randomUUID();
    await kindOf(life, key);
    await life.at(start + 1.2 * day);
    const client = await fixture.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query(`SELECT ${life.schema}.claim('acct_1', 'effects', $1, NULL, '', 1, '0')`, [sortableKey(key)]);
      expect(await life.run({ patience: 50 })).toMatchObject({ expired: 0 });
    } finally {
      client.release(true);
    }
    expect(await life.run()).toMatchObject({ expired: 1 });
  });

  it("goes by the thousand, in small transactions", async () => {
    const life = await begin();
    await fixture.pool.query(
      `INSERT INTO ${life.schema}.keys (tenant, scope, key, fingerprint, status, headers, body)
        SELECT 't', 's', 'o' || n, '', 200, '[]', 'x' FROM generate_series(1, 1050) n`,
    );
    await life.at(life.now() + 3 * day);
    expect(await life.run()).toMatchObject({ expired: 1050, forgotten: 0 });
    await life.at(life.now() + 3 * day);
    expect(await life.run()).toMatchObject({ expired: 0, forgotten: 1050 });
  });
});
