import { randomUUID } from "node:crypto";
import type pg from "pg";
import { type PostgresPool, postgresStore } from "samekey/stores/postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OperationRecord, readerOf } from "../../../src/core/record.js";
import type { Store } from "../../../src/store.js";
import { blocked, clock, leased, newRecord, rejected, succeeded, T0 } from "../../support/records.js";
import { world } from "./fixture.js";

const at = world();

/** How much stands there of each kind. */
const MANY = 20_000;
/** Pages that a statement may look at, whatever else stands there; a walk through any of the above looks at thousands. */
const FEW = 500;

interface Asked {
  readonly text: string;
  readonly values: unknown[];
}

/** What each statement would cost now, and how it would go about it. */
async function explain(pool: pg.Pool, { text, values }: Asked): Promise<{ pages: number; plan: string }> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, values);
    const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
    return { pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], plan: JSON.stringify(plan) };
  } finally {
    await client.query("rollback");
    client.release();
  }
}

const asked: Asked[] = [];

function listening(pool: pg.Pool): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect();
      return {
        release: (destroy) => client.release(destroy),
        query: (text, values) => {
          if (values && /operations/.test(text)) asked.push({ text, values });
          return client.query(text, values);
        },
      };
    },
  };
}

/** Others, as many of them as there shall be: copies of one that is there. */
async function multiply(pool: pg.Pool, schema: string, owner: string): Promise<void> {
  await pool.query(
    `insert into ${schema}.operations (sdk, rev, id, owner, origin, key, name, intent, lane, state, held, place, due,
       since, kept, reader, record, request)
     select sdk, rev, id || '-' || i, owner, origin, key || '-' || i, name, intent || '-' || i, lane, state, held,
       case when lane is not null then 1 end, case when lane is null then due + i / 1000.0 end,
       case when lane is null then since end, kept, reader,
       replace(replace(record, id, id || '-' || i), key, key || '-' || i), request
     from ${schema}.operations, generate_series(1, $2) i where owner = $1`,
    [owner, MANY],
  );
}

describe.each([
  ["before Postgres knows what is in its tables", false],
  ["when Postgres knows what is in its tables", true],
])("%s", (_, analyzed) => {
  const schema = `plans_${randomUUID().replaceAll("-", "")}`;
  let store: Store;
  const past = { nextAttemptAt: T0 - 60_000 };
  const down = "https://down.example.com";
  let read: OperationRecord["wire"];

  beforeAll(async () => {
    store = postgresStore({ pool: listening(at.pool), schema });
    await store.open({ name: "plans", clock });
    await at.pool.query(`alter table ${schema}.operations set (autovacuum_enabled = off)`);
    const make = async (change: Parameters<typeof newRecord>[0] = {}) => (await store.insert(newRecord(change))).record;
    await make({ ...past, owner: "waiting", origin: down });
    read = (await make({ ...past, owner: "read", wire: { ...newRecord().wire, profile: "bank" } })).wire;
    await make({ nextAttemptAt: T0 + 9e9, delay: 9e9, owner: "later" });
    await store.update((await make({ owner: "over", intent: "o" })).id, (it) => rejected(it, T0));
    const front = await make({ ...past, owner: "behind", lane: "lane" });
    for (const owner of ["waiting", "read", "later", "over", "behind"]) await multiply(at.pool, schema, owner);
    await store.update(front.id, blocked);
    if (analyzed) await at.pool.query(`analyze ${schema}.operations`);
  }, 120_000);
  afterAll(() => store.close());
  beforeEach(() => {
    asked.length = 0;
  });

  /** Every statement that `act` makes the store use looks at few pages, and goes through no table. */
  async function expectCheap(act: () => Promise<unknown>): Promise<void> {
    await act();
    const statements = asked.splice(0);
    expect(statements).not.toEqual([]);
    for (const statement of statements) {
      const { pages, plan } = await explain(at.pool, statement);
      expect(plan, statement.text).not.toMatch(/"Seq Scan","[^{}]*"Relation Name":"operations"/);
      expect(pages, `${statement.text}\n${plan}`).toBeLessThan(FEW);
    }
  }

  const take = (query: object) => async () => {
    const { records } = await store.claim({ now: T0, limit: 8, ...query }, (it) => leased(it, "holder", T0));
    return records.map(({ owner }) => owner);
  };

  test("a claim takes what is due", () => expectCheap(take({})));
  test("a claim takes what is due of an owner", () => expectCheap(take({ owner: "waiting" })));
  test("a claim leaves alone an origin that is down", () => expectCheap(take({ exceptOrigins: [down] })));
  test.each(["read", undefined])("a claim leaves alone what only others can read, of %s", (owner) =>
    expectCheap(take({ owner, exceptReaders: new Set([readerOf({ name: newRecord().name, wire: read })]) })),
  );
  test("a claim leaves alone what is behind a blocked head", () => expectCheap(take({ owner: "behind" })));
  test("a claim for an owner whose time has not come", () => expectCheap(take({ owner: "later" })));
  test("a claim by id", () =>
    expectCheap(async () => take({ ids: (await store.page({ limit: 3 })).map(({ id }) => id) })()));

  test("recording, settling and removing", () =>
    expectCheap(async () => {
      const { record } = await store.insert(newRecord({ owner: "waiting", intent: "new" }));
      await store.insert(newRecord({ owner: "waiting", intent: "new" }));
      await store.insert(newRecord({ owner: "behind", lane: "lane" }));
      const done = await store.update(record.id, (it) => succeeded(it, T0), record);
      await store.update(record.id, () => undefined, done);
    }));

  test("reading", () =>
    expectCheap(async () => {
      await store.get("nobody");
      await store.find("over", "transfer", "o-77");
      await store.find("over", "transfer", "nothing");
      await store.head("behind", "lane");
      await store.page({ owner: "waiting", states: ["pending"], limit: 10 });
      await store.page({ states: ["blocked"], limit: 10 });
      await store.prunable({ settledBefore: T0 - 1, bare: false, limit: 10 });
      await store.prunable({ settledBefore: T0 + 1_000_000, bare: false, limit: 10 });
      await store.prunable({ settledBefore: T0 + 1_000_000, bare: true, limit: 10 });
      await store.relieve(() => false);
    }));

  test("the end of a lane's head", () =>
    expectCheap(async () => {
      const head = await store.head("behind", "lane");
      await store.update(head?.id ?? "", (it) => rejected(it, T0));
    }));
});
