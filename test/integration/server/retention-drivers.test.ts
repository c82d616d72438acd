import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency } from "../../../src/server/index.js";
import { sessionsOf } from "../../../src/server/sessions/open.js";
import type { Sessions } from "../../../src/server/sessions/session.js";
import { findPgBouncer, type PgBouncer, startPgBouncer } from "../../support/pgbouncer.js";
import { type Driver, orms, ownConnections } from "./drivers.js";
import { effect, type Fixture, request, startFixture } from "./fixture.js";
import { day, type Life, startLife } from "./life.js";

let fixture: Fixture;
let schemas = 0;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

/** Ten days of life, after which there is something to make, to drop and to expire. */
async function lived(): Promise<Life> {
  schemas += 1;
  const life = await startLife(fixture, `driven_${schemas}`, Date.now() - 10 * day);
  for (const key of [v7({ msecs: life.now() }), randomUUID()]) await life.engine.run(request(key), effect());
  await life.at(Date.now());
  return life;
}

async function expectAllDone(life: Life, driver: Driver, url: string): Promise<void> {
  const open = driver.open(url, 1);
  try {
    const report = await life.run({ db: sessionsOf(open.db) as Sessions });
    expect(report).toMatchObject({ waiting: [], expired: 1 });
    expect(report.made.length).toBeGreaterThan(0);
    expect(report.dropped.length).toBeGreaterThan(5);
    expect(await life.run()).toEqual({ made: [], dropped: [], waiting: [], expired: 0, forgotten: 0 });
  } finally {
    await open.end();
  }
}

describe("the retention job", () => {
  it.each(ownConnections)("runs on one connection of $name", async (driver) => {
    await expectAllDone(await lived(), driver, fixture.url);
  });

  it.each(orms)("says on $name that it needs a pool, and runs on one", async (driver) => {
    const life = await lived();
    const open = driver.open(fixture.url, 2);
    const engine = createIdempotency({ db: open.db, retention: "24h", schema: life.schema });
    await expect(engine.runRetention()).rejects.toMatchObject({
      code: "bad_option",
      message: expect.stringContaining("pool"),
    });
    expect(await engine.runRetention({ db: fixture.pool })).toMatchObject({ waiting: [] });
    await open.end();
  });
});

// F99
const program = findPgBouncer();
if (program === undefined) console.warn("left out: no PgBouncer found: install the package pgbouncer");

describe.skipIf(program === undefined)("the retention job through PgBouncer in transaction mode", () => {
  let bouncer: PgBouncer;
  beforeAll(async () => {
    bouncer = await startPgBouncer({ program: program as string, target: fixture.url, poolSize: 2 });
  });
  afterAll(() => bouncer?.stop());

  it.each(ownConnections.filter(({ name }) => /^pg$|unprepared/.test(name)))("runs on $name", async (driver) => {
    await expectAllDone(await lived(), driver, bouncer.url);
    // Nothing of it stays with a connection that others get next.
    const open = ownConnections[0]?.open(bouncer.url, 1);
    const session = await (sessionsOf(open?.db as never) as Sessions).connect();
    const { rows } = await session.query(
      "SELECT current_setting('lock_timeout') AS a, current_setting('statement_timeout') AS b",
    );
    expect(rows).toEqual([{ a: "0", b: "0" }]);
    session.release();
    await open?.end();
  });
});
