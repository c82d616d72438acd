import { createConnection, createServer, type Server, type Socket } from "node:net";
import pg from "pg";
import postgres from "postgres";
import { type Clock, createSdk, post, StoreError } from "samekey";
import { type PostgresJs, postgresStore } from "samekey/stores/postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { startEmbeddedPostgres } from "../../../examples/reference-server/embedded-postgres.js";
import { startObservedServer } from "../../support/observed-server.js";
import { findPgBouncer, startPgBouncer } from "../../support/pgbouncer.js";
import { clock, newRecord, succeeded, T0 } from "../../support/records.js";
import { inTransaction, world } from "./fixture.js";

const at = world();
const soon = { timeout: 20_000, interval: 20 };

async function opened(options: { pool?: pg.Pool; schema?: string; name?: string } = {}) {
  const store = postgresStore({ pool: options.pool ?? at.pool, schema: options.schema });
  await store.open({ name: options.name ?? at.name, clock });
  onTestFinished(() => store.close());
  return store;
}

function poolOf(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ connectionString: at.url, ...options });
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  return pool;
}

/** A way to the database on which the answer to one statement can get lost, with the connection. */
async function lossyPort(): Promise<{ port: number; loseAnswerTo(statement: string): void }> {
  const { hostname, port } = new URL(at.url);
  const sockets = new Set<Socket>();
  let statement: string | undefined;
  const server: Server = createServer((down) => {
    const up = createConnection(Number(port), hostname);
    for (const socket of [down, up]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        down.destroy();
        up.destroy();
      });
    }
    let losing = false;
    down.on("data", (data) => {
      if (statement !== undefined && data.includes(statement)) {
        statement = undefined;
        losing = true;
      }
      up.write(data);
    });
    up.on("data", (data) => {
      if (losing) down.destroy();
      else down.write(data);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  return {
    port: (server.address() as { port: number }).port,
    loseAnswerTo: (text) => {
      statement = text;
    },
  };
}

test("a commit whose answer is lost is told as unknown, and the record is there", async () => {
  const line = await lossyPort();
  const url = new URL(at.url);
  url.port = String(line.port);
  const store = await opened({ pool: poolOf({ connectionString: url.href, max: 1 }) });
  await store.insert(newRecord());
  line.loseAnswerTo("commit\0");
  const lost = newRecord();
  const error = await store.insert(lost).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: "not_durable", id: lost.id });
  await vi.waitFor(async () => expect(await store.get(lost.id)).toMatchObject({ id: lost.id }), soon);
});

test("postgres.js, too, goes on with another connection after one was lost during COMMIT", async () => {
  const line = await lossyPort();
  const url = new URL(at.url);
  url.port = String(line.port);
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const store = postgresStore({ pool: sql });
  await store.open({ name: at.name, clock });
  for (let i = 0; i < 3; i++) {
    line.loseAnswerTo("commit\0");
    const lost = newRecord();
    await expect(store.insert(lost)).rejects.toMatchObject({ code: "not_durable" });
    await vi.waitFor(async () => expect(await store.get(lost.id)).toMatchObject({ id: lost.id }), soon);
    line.loseAnswerTo("json_to_recordset");
    await expect(store.insert(newRecord())).rejects.toMatchObject({ code: "unavailable" });
  }
  expect(await store.counts()).toEqual({ pending: 3 });
});

test("postgres.js with a pool of one goes on after its connection ended in the middle of a statement", async () => {
  const sql = postgres(at.url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const store = postgresStore({ pool: sql, schema: "cut" });
  await store.open({ name: at.name, clock });
  onTestFinished(() => store.close());
  const { record } = await store.insert(newRecord());
  const { asked } = await inTransaction(at.pool, async (tx) => {
    await tx.query("lock table cut.operations in access exclusive mode");
    const asked = store.get(record.id).catch((reason: unknown) => reason);
    const pid = await vi.waitFor(async () => {
      const { rows } = await at.pool.query("select pid from pg_locks where not granted");
      expect(rows).toHaveLength(1);
      return rows[0].pid;
    }, soon);
    await at.pool.query("select pg_terminate_backend($1)", [pid]);
    return { asked };
  });
  // What only reads is asked once more by the store itself, on whatever connection the pool has then.
  expect(await asked).toEqual(record);
  expect(await store.get(record.id)).toEqual(record);
});

test("what was given up as stalled is not committed after all, on a connection that postgres.js cannot close", async () => {
  const sql = postgres(at.url, { max: 2, onnotice: () => {} });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const controls = new EventTarget();
  const heard = (name: string) => new Promise((done) => controls.addEventListener(name, done, { once: true }));
  let isSlow = false;
  const pool: PostgresJs = {
    async reserve() {
      const connection = await sql.reserve();
      return {
        async unsafe(text, values) {
          const answer = await connection.unsafe(text, values);
          if (!isSlow || !text.startsWith("begin")) return answer;
          isSlow = false;
          const answered = heard("answer");
          controls.dispatchEvent(new Event("held"));
          await answered;
          controls.dispatchEvent(new Event("answered"));
          return answer;
        },
        release: () => connection.release(),
      };
    },
  };
  const store = postgresStore({ pool });
  const sleep: Clock["sleep"] = (ms, signal) =>
    Promise.race([ms === 15_000 ? heard("deadline").then(() => {}) : clock.sleep(ms, signal), aborted(signal)]);
  await store.open({ name: at.name, clock: { ...clock, sleep } });
  isSlow = true;
  const [held, answered] = [heard("held"), heard("answered")];
  const inserting = store.insert(newRecord());
  inserting.catch(() => {});
  await held;
  controls.dispatchEvent(new Event("deadline"));
  await expect(inserting).rejects.toMatchObject({ code: "stalled" });
  controls.dispatchEvent(new Event("answer"));
  await answered;
  // Whatever would still follow on that connection is behind it by now.
  for (let i = 0; i < 10; i++) expect(await store.counts()).toEqual({});
});

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
}

test("an sdk that cannot tell whether it recorded sends nothing, and cancels what was recorded", async () => {
  const line = await lossyPort();
  const url = new URL(at.url);
  url.port = String(line.port);
  const pool = poolOf({ connectionString: url.href, max: 2 });
  const sdk = at.sdk(postgresStore({ pool }));
  await sdk.counts();
  line.loseAnswerTo("commit\0");
  await expect(sdk.operation("order", { order: "1" }).send()).rejects.toMatchObject({ code: "not_durable" });
  await vi.waitFor(async () => expect(await sdk.counts()).toEqual({ canceled: 1 }), soon);
  expect(at.server.arrivals).toEqual([]);
});

test("a connection that is lost before the commit is told as unavailable, and nothing is there", async () => {
  const line = await lossyPort();
  const url = new URL(at.url);
  url.port = String(line.port);
  const store = await opened({ pool: poolOf({ connectionString: url.href, max: 1 }) });
  line.loseAnswerTo("json_to_recordset");
  const lost = newRecord();
  await expect(store.insert(lost)).rejects.toMatchObject({ code: "unavailable" });
  expect(await store.get(lost.id)).toBeUndefined();
});

test("a pool of one is enough, also while the program's own transactions use it", async () => {
  const pool = poolOf({ max: 1 });
  const sdk = at.sdk(postgresStore({ pool }));
  await sdk.counts();
  sdk.start();
  const orders = Array.from({ length: 10 }, (_, i) =>
    inTransaction(pool, async (tx) => {
      await tx.query("insert into debits values ($1)", [`one-${i}`]);
      await sdk.operation("order", { order: String(i) }).save({ tx });
    }),
  );
  await Promise.all([...orders, sdk.operation("order", { order: "sent" }).send()]);
  await vi.waitFor(() => expect(at.server.effects.size).toBe(11), soon);
  expect(pool.totalCount).toBe(1);
});

test("a pool whose connections are all held fails the opening in time, and a late connection is given back", async () => {
  const pool = poolOf({ max: 1 });
  const held = await pool.connect();
  const store = postgresStore({ pool });
  onTestFinished(() => store.close());
  const impatient = { now: clock.now, sleep: (_: number, signal?: AbortSignal) => clock.sleep(20, signal) };
  await expect(store.open({ name: at.name, clock: impatient })).rejects.toMatchObject({ code: "unavailable" });
  held.release();
  await store.open({ name: at.name, clock });
  expect(await store.counts()).toEqual({});
});

test("connections that were cut while the pool kept them are replaced, unseen", async () => {
  const pool = poolOf({ max: 2 });
  const store = await opened({ pool });
  const { rows } = await pool.query("select pg_backend_pid() as pid");
  await at.pool.query("select pg_terminate_backend($1)", [rows[0].pid]);
  expect((await store.insert(newRecord())).joined).toBeUndefined();
});

test("a row that someone keeps locked holds up its own verb, and nobody else's", async () => {
  const store = await opened();
  const [a, b] = await Promise.all([store.insert(newRecord()), store.insert(newRecord())]);
  let settling: Promise<unknown> | undefined;
  await inTransaction(at.pool, async (tx) => {
    await tx.query("select from samekey.operations where seq = $1 for update", [a.record.seq]);
    settling = store.update(a.record.id, (it) => succeeded(it, T0));
    expect(await store.update(b.record.id, (it) => succeeded(it, T0))).toMatchObject({ state: "succeeded" });
    expect(await store.get(a.record.id)).toMatchObject({ state: "pending" });
  });
  expect(await settling).toMatchObject({ state: "succeeded" });
});

test("a role that does not wait for commits does so for what must be synced", async () => {
  const store = await opened({ pool: poolOf({ options: "-c synchronous_commit=off" }) });
  const before = await at.pool.query("select pg_current_wal_flush_lsn() as lsn");
  await store.insert(newRecord());
  const flushed = await at.pool.query(
    "select pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() as all, pg_current_wal_flush_lsn() > $1 as more",
    [before.rows[0].lsn],
  );
  expect(flushed.rows[0]).toEqual({ all: true, more: true });
});

test("stores that open at once make the tables once; a newer schema is refused, and left alone", async () => {
  const schema = `it's "new"; drop table debits; --`;
  await Promise.all(Array.from({ length: 6 }, () => opened({ schema, pool: poolOf({ max: 1 }) })));
  await at.pool.query(`update "it's ""new""; drop table debits; --".operations_meta set version = 99`);
  await expect(opened({ schema })).rejects.toMatchObject({
    code: "newer_schema",
    message: expect.stringContaining("99"),
  });
  expect(
    (await at.pool.query('select version from "it\'s ""new""; drop table debits; --".operations_meta')).rows,
  ).toEqual([{ version: 99 }]);
});

test("tables from before the first release are refused with the remedy, and left alone", async () => {
  await opened({ schema: "unreleased" });
  await at.pool.query("alter table unreleased.operations rename column kept to settled");
  await expect(opened({ schema: "unreleased" })).rejects.toMatchObject({
    code: "corrupt",
    message: expect.stringMatching(/"unreleased": .* before the first release.*then drop operations/),
  });
});

test("names are data, whatever is in them", async () => {
  const store = await opened({ name: `n'; drop table debits; --` });
  const odd = ["'; drop table debits; --", '"', "\\", "\\u0000", "\0", "\ud800", "\ud801", "%", "名", "$1"];
  for (const text of odd) {
    const { record } = await store.insert(
      newRecord({ owner: text, name: text, intent: text, lane: text, key: text, id: `id ${text}`, origin: text }),
    );
    expect(await store.get(record.id)).toEqual(record);
    expect(await store.find(text, text, text)).toEqual(record);
    expect(await store.head(text, text)).toEqual(record);
    expect(await store.counts(text)).toEqual({ pending: 1 });
    expect((await store.page({ owner: text, name: text, intent: text, lane: text })).length).toBe(1);
    expect(
      (await store.claim({ now: T0, limit: 9, owner: text, exceptOrigins: ["x"] }, (it) => ({ ...it, attempts: 1 })))
        .records.length,
    ).toBe(1);
    expect(
      (await store.claim({ now: T0, limit: 9, owner: text, exceptOrigins: [text] }, (it) => ({ ...it, attempts: 2 })))
        .records,
    ).toEqual([]);
  }
  expect(await store.counts()).toEqual({ pending: odd.length });
});

test("sdks of other names share nothing but the tables", async () => {
  const [one, other] = [await opened(), await opened({ name: `${at.name}-other` })];
  const given = newRecord({ intent: "i", lane: "l" });
  await one.insert(given);
  expect((await other.insert(given)).joined).toBeUndefined();
  await one.update(given.id, (it) => succeeded(it, T0));
  expect([await one.counts(), await other.counts()]).toEqual([{ succeeded: 1 }, { pending: 1 }]);
});

test("what is counted is added up now and then, and stays the same", async () => {
  const store = await opened();
  const owned = ["ada", "bob"].map((owner) => ({ owner }));
  for (let i = 0; i < 250; i++) {
    const { record } = await store.insert(newRecord(owned[i % 2]));
    if (i % 5 === 0) await store.update(record.id, () => undefined);
  }
  const { rows } = await at.pool.query("select count(*)::int as n from samekey.operation_deltas where sdk = $1", [
    at.name,
  ]);
  expect(rows[0].n).toBeLessThan(600);
  expect(await store.counts()).toEqual({ pending: 200 });
  expect(await store.counts("ada")).toEqual({ pending: 100 });
});

test("the database crashes and comes back under workers: they go on, and nothing is sent twice at once", async () => {
  const postgres = await startEmbeddedPostgres({ fsync: false });
  const server = await startObservedServer({ work: () => 5 });
  const pool = new pg.Pool({ connectionString: postgres.url, max: 3 });
  pool.on("error", () => {});
  const make = () =>
    createSdk({
      name: "restarted",
      baseUrl: server.url,
      owner: "single",
      retention: "24h",
      store: postgresStore({ pool }),
      retry: { base: "20ms", cap: "200ms", backgroundCap: "200ms" },
      operations: { order: post<{ order: string }>("/orders") },
    });
  const sdks = [make(), make()];
  onTestFinished(async () => {
    await Promise.all(sdks.map((sdk) => sdk.close({ timeout: 0 })));
    await pool.end();
    await server.close();
    await postgres.stop();
  });
  const saved = await Promise.all(
    Array.from({ length: 200 }, (_, i) => sdks[i % 2]?.operation("order", { order: String(i) }).save()),
  );
  for (const sdk of sdks) sdk.start();
  await vi.waitFor(() => expect(server.effects.size).toBeGreaterThan(20), soon);
  const restart = await postgres.crash();
  await expect(sdks[0]?.operation("order", { order: "x" }).save()).rejects.toBeInstanceOf(StoreError);
  await restart();
  await vi.waitFor(() => expect(server.effects.size).toBe(saved.length), { timeout: 90_000, interval: 50 });
  expect([...server.effects.values()].every((times) => times === 1)).toBe(true);
  expect(server.overlaps).toBe(0);
  await vi.waitFor(async () => expect((await sdks[0]?.counts())?.succeeded).toBe(200), soon);
}, 120_000);

test.each([
  [undefined, "object"],
  [{}, "`pool`"],
  [{ pool: {} }, "`pool`"],
  [{ pool: { connect() {} }, schema: "" }, "`schema`"],
  [{ pool: { connect() {} }, schema: "x".repeat(64) }, "`schema`"],
  [{ pool: { connect() {} }, table: "t" }, "`table`"],
])("options that are wrong are named: %j", (options, named) => {
  expect(() => postgresStore(options as never)).toThrow(
    expect.objectContaining({ code: "bad_option", message: expect.stringContaining(named) }),
  );
});

const bouncer = findPgBouncer();
test.skipIf(bouncer === undefined)(
  "PgBouncer in transaction mode hands connections around, and nothing is lost (package pgbouncer)",
  async () => {
    const between = await startPgBouncer({ program: bouncer as string, target: at.url, poolSize: 2 });
    onTestFinished(() => between.stop());
    const sdks = [1, 2, 3].map(() =>
      at.sdk(postgresStore({ pool: poolOf({ connectionString: between.url, max: 2 }) })),
    );
    for (const sdk of sdks) sdk.start();
    const sent = sdks.flatMap((sdk, s) =>
      Array.from({ length: 20 }, (_, i) => sdk.operation("order", { order: `${s}/${i}` }, { lane: `${i % 3}` }).send()),
    );
    await Promise.all(sent);
    expect([...at.server.effects.values()]).toEqual(Array(60).fill(1));
    expect(await sdks[0]?.counts()).toEqual({ succeeded: 60 });
  },
);
