import pg from "pg";
import postgres from "postgres";
import type { Clock } from "samekey";
import { postgresStore } from "samekey/stores/postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { clock } from "../../support/records.js";
import { inTransaction, world } from "./fixture.js";

const at = world();
const soon = { timeout: 10_000, interval: 10 };

/** Nobody comes round to look for others' work: what is done at once was told. */
const unhurried: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    ms < 1_000
      ? clock.sleep(ms, signal)
      : new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
};

const throughPg = () => new pg.Client(at.url);

/** The connections that listen. */
async function listening(): Promise<number[]> {
  const { rows } = await at.pool.query("select pid from pg_stat_activity where query ilike 'listen%' order by pid");
  return rows.map(({ pid }) => pid);
}

async function startWorker(listen: Parameters<typeof postgresStore>[0]["listen"] = throughPg) {
  // Those of the test before take a moment to go.
  await vi.waitFor(async () => expect(await listening()).toEqual([]), soon);
  const worker = at.sdk(postgresStore({ pool: at.pool, listen }), { clock: unhurried });
  worker.start();
  await vi.waitFor(async () => expect((await listening()).length).toBe(1), soon);
  return worker;
}

const notifying = () => at.sdk(postgresStore({ pool: at.pool, notify: true }));

test.each(["pg", "postgres.js"])(
  "a worker that listens through %s sends what was recorded as soon as it commits",
  async (driver) => {
    const sql = postgres(at.url, { max: 1, onnotice: () => {} });
    onTestFinished(() => sql.end());
    await startWorker(driver === "pg" ? throughPg : sql);
    const web = notifying();
    await inTransaction(at.pool, (tx) => web.operation("order", { order: "within" }).save({ tx }));
    await vi.waitFor(() => expect(at.server.effects.get("within")).toBe(1), soon);
    await web.operation("order", { order: "alone" }).save();
    await vi.waitFor(() => expect(at.server.effects.get("alone")).toBe(1), soon);
  },
);

test("who waits for an operation that another process sends is told of its outcome", async () => {
  const worker = await startWorker();
  let reply = () => {};
  at.server.at(
    "committed",
    () =>
      new Promise<void>((resolve) => {
        reply = resolve;
      }),
  );
  const order = { intent: "one" };
  const theirs = notifying().operation("order", { order: "1" }, order).send();
  await vi.waitFor(() => expect(at.server.effects.get("1")).toBe(1), soon);
  const ours = worker.operation("order", { order: "1" }, order).send();
  await vi.waitFor(async () => expect((await worker.find({ name: "order", ...order }))?.lease).toBeDefined(), soon);
  reply();
  expect((await ours).id).toBe((await theirs).id);
  expect(at.server.arrivals.length).toBe(1);
});

test("a worker whose connection is cut listens again", async () => {
  await startWorker();
  const [cut] = await listening();
  await at.pool.query("select pg_terminate_backend($1)", [cut]);
  await vi.waitFor(async () => {
    const now = await listening();
    expect([now.length, now.includes(cut as number)]).toEqual([1, false]);
  }, soon);
  await notifying().operation("order", { order: "1" }).save();
  await vi.waitFor(() => expect(at.server.effects.get("1")).toBe(1), soon);
});

test("what anyone else says on the channel is not listened to", async () => {
  await startWorker();
  const { rows } = await at.pool.query("select query from pg_stat_activity where query ilike 'listen%'");
  const channel = String(rows[0].query).split(" ")[1]?.replaceAll('"', "");
  for (const text of ["", "junk", "null", "[]", '{"news":[{}]}', '{"news":7}']) {
    await at.pool.query("select pg_notify($1, $2)", [channel, text]);
  }
  await notifying().operation("order", { order: "1" }).save();
  await vi.waitFor(() => expect(at.server.effects.get("1")).toBe(1), soon);
});

test("an sdk that is closed listens no more", async () => {
  const worker = await startWorker();
  await worker.close();
  await vi.waitFor(async () => expect(await listening()).toEqual([]), soon);
});
