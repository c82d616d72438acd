import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { bytes, context, newRecord, postponed, rejected, succeeded, T0 } from "../../support/records.js";
import { directory, later, opened } from "./tools.js";

/** A driver that writes down what the connection is told, and what level each commit had. */
function listening() {
  const log: string[] = [];
  const driver = (path: string) => {
    const db = new Database(path);
    return {
      prepare: (sql: string) => db.prepare<unknown[]>(sql),
      close: () => db.close(),
      exec(sql: string) {
        const level = () => db.pragma("synchronous", { simple: true });
        if (sql === "commit") log.push(`commit at ${level()}`);
        else if (sql.startsWith("begin")) log.push(sql);
        else if (sql.startsWith("pragma synchronous")) log.push(`${sql} ${db.inTransaction ? "inside" : "outside"}`);
        db.exec(sql);
      },
    };
  };
  return { driver, log };
}

const commits = (log: string[]) => log.filter((entry) => entry.startsWith("commit"));

test("synchronous is FULL on every open, the second one too (F81)", async () => {
  const path = join(directory(), "store.sqlite");
  const store = await opened({ path });
  await store.insert(newRecord());
  await store.close();

  const plain = new Database(path);
  // What the store would get if it did not ask: the reason for this test.
  expect(plain.pragma("synchronous", { simple: true })).toBe(1);
  plain.close();

  const { driver, log } = listening();
  const again = await opened({ path, driver });
  expect(log[0]).toBe("pragma synchronous = full outside");
  await again.insert(newRecord());
  expect(commits(log)).toEqual(["commit at 2"]);
});

test("a transaction is relaxed only if all in it may be, and the level is set outside of it", async () => {
  const { driver, log } = listening();
  const store = await opened({ path: join(directory(), "store.sqlite"), driver });
  const [a, b, c] = await Promise.all([1, 2, 3].map(async () => (await store.insert(newRecord())).record));
  if (!(a && b && c)) throw new Error("not inserted");
  log.length = 0;

  const success = await store.update(a.id, (it) => succeeded(it, T0), a);
  const waiting = await store.update(b.id, (it) => postponed(it, T0, 100), b);
  expect(commits(log)).toEqual(["commit at 1", "commit at 1"]);

  await Promise.all([
    store.update(a.id, (it) => ({ ...it, delivered: true, code: "x" }), success),
    store.update(c.id, (it) => rejected(it, T0), c),
    store.update(b.id, (it) => postponed(it, T0, 200), waiting),
  ]);
  expect(commits(log).slice(2)).toEqual(["commit at 2"]);
  expect(log.filter((entry) => entry.includes("inside"))).toEqual([]);
});

test("a transaction that may write takes the lock when it begins, one that reads takes none (F79)", async () => {
  const { driver, log } = listening();
  const store = await opened({ path: join(directory(), "store.sqlite"), driver });
  const { record } = await store.insert(newRecord());
  log.length = 0;
  await store.update(record.id, (it) => it);
  await store.claim({ now: T0, limit: 1 }, (it) => it);
  await store.get(record.id);
  await Promise.all([store.get(record.id), store.relieve(() => false)]);
  const begins = log.filter((entry) => entry.startsWith("begin"));
  expect(begins).toEqual(["begin immediate", "begin immediate", "begin", "begin immediate"]);
});

test("while another process writes, the event loop goes on and the write is done afterwards (F79)", async () => {
  const path = join(directory(), "store.sqlite");
  const store = await opened({ path });
  const { record } = await store.insert(newRecord());
  const other = new Database(path);
  later(() => other.close());
  other.exec("begin immediate");

  let turns = 0;
  const watch = setInterval(() => {
    turns += 1;
  }, 5);
  later(() => clearInterval(watch));
  let done = false;
  const writing = Promise.all([
    store.insert(newRecord()),
    store.update(record.id, (it) => rejected(it, T0), record),
    store.get(record.id),
  ]).finally(() => {
    done = true;
  });
  await context.clock.sleep(600);
  expect(done).toBe(false);
  other.exec("commit");
  await writing;
  // A wait inside SQLite would have let none or two of them happen.
  expect(turns).toBeGreaterThan(8);
  expect(await store.counts()).toEqual({ pending: 1, rejected: 1 });
});

test("a lock that is never given back ends as stalled, and nothing was written (F79)", async () => {
  const path = join(directory(), "store.sqlite");
  const store = sqliteStore({ path });
  // Time that passes as soon as it is asked for: the deadline counts waits, not the clock.
  await store.open({ name: "x", clock: { now: Date.now, sleep: async () => {} } });
  later(() => store.close());
  const other = new Database(path);
  later(() => other.close());
  other.exec("begin immediate");
  const [first, second] = await Promise.allSettled([store.insert(newRecord()), store.counts()]);
  expect(first).toMatchObject({ status: "rejected", reason: { code: "stalled" } });
  expect(second).toMatchObject({ status: "rejected", reason: { code: "stalled" } });
  other.exec("rollback");
  expect(await store.counts()).toEqual({});
  expect((await store.insert(newRecord())).joined).toBeUndefined();
});

test("a row that cannot be written fails its own verb only", async () => {
  const path = join(directory(), "store.sqlite");
  const store = await opened({ path });
  const bad = newRecord({ owner: 5 as never, name: undefined as never });
  const outcomes = await Promise.allSettled([store.insert(newRecord()), store.insert(bad), store.insert(newRecord())]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[1]).toMatchObject({ reason: { name: "StoreError" } });
  expect(await store.counts()).toEqual({ pending: 2 });
});

test("a full disk is store_full for what does not fit, and nothing of it is recorded", async () => {
  const driver = (file: string) => {
    const db = new Database(file);
    db.pragma("max_page_count = 400");
    return db;
  };
  const store = await opened({ path: join(directory(), "store.sqlite"), driver });
  const { request, ...given } = newRecord();
  const body = new ArrayBuffer(8 * 1_048_576);
  const [large, small] = await Promise.allSettled([
    store.insert({ ...given, request: { ...request, body } }),
    store.insert(newRecord()),
  ]);
  expect(large).toMatchObject({ status: "rejected", reason: { code: "store_full" } });
  expect(small.status).toBe("fulfilled");
  expect(await store.counts()).toEqual({ pending: 1 });
});

test("a commit whose fate is unknown says so, with the operation's id", async () => {
  const path = join(directory(), "store.sqlite");
  let failing = false;
  const driver = (file: string) => {
    const db = new Database(file);
    return {
      prepare: (sql: string) => db.prepare<unknown[]>(sql),
      close: () => db.close(),
      exec(sql: string) {
        if (sql === "commit" && failing)
          throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" });
        db.exec(sql);
      },
    };
  };
  const store = await opened({ path, driver });
  failing = true;
  const given = newRecord();
  const outcome = await store.insert(given).catch((error: unknown) => error);
  expect(outcome).toMatchObject({ code: "not_durable", id: given.id, cause: { code: "SQLITE_IOERR_FSYNC" } });
  failing = false;
  expect((await store.insert(newRecord())).joined).toBeUndefined();
});

test("256 verbs of one tick are one transaction, and more are cut there", async () => {
  const { driver, log } = listening();
  const store = await opened({ path: join(directory(), "store.sqlite"), driver });
  log.length = 0;
  await Promise.all(Array.from({ length: 256 }, () => store.insert(newRecord())));
  expect(commits(log)).toHaveLength(1);
  await Promise.all(Array.from({ length: 600 }, () => store.insert(newRecord())));
  expect(commits(log)).toHaveLength(1 + 3);
});

test("bodies are not written again when their record changes", async () => {
  const written: string[] = [];
  const driver = (file: string) => new Database(file, { verbose: (sql) => written.push(String(sql)) });
  const store = await opened({ path: join(directory(), "store.sqlite"), driver });
  const { record } = await store.insert(newRecord());
  written.length = 0;
  const waiting = await store.update(record.id, (it) => postponed(it, T0, 100), record);
  await store.update(record.id, (it) => postponed(it, T0, 200));
  expect(written.filter((sql) => /into (requests|responses)/.test(sql))).toEqual([]);
  expect(written.filter((sql) => /^\s*select/.test(sql)).length).toBe(1);
  expect(waiting?.rev).toBe(2);
});

test("a driver may hand out views of something larger, and take an empty array for NULL", async () => {
  const driver = (path: string) => {
    const db = new Database(path);
    const inside = (value: unknown) =>
      value instanceof Uint8Array
        ? Buffer.concat([Buffer.alloc(3), value, Buffer.alloc(3)]).subarray(3, 3 + value.length)
        : value;
    const given = (value: unknown) => (value instanceof Uint8Array && value.length === 0 ? null : value);
    return {
      exec: (sql: string) => db.exec(sql),
      close: () => db.close(),
      prepare(sql: string) {
        const statement = db.prepare<unknown[]>(sql);
        const row = (found: unknown) =>
          found && Object.fromEntries(Object.entries(found).map(([name, value]) => [name, inside(value)]));
        return {
          run: (...values: unknown[]) => statement.run(...values.map(given)),
          get: (...values: unknown[]) => row(statement.get(...values)),
          all: (...values: unknown[]) => statement.all(...values).map(row),
        };
      },
    };
  };
  const store = await opened({ path: join(directory(), "store.sqlite"), driver });
  for (const text of ["", "abc"]) {
    const given = newRecord();
    await store.insert({ ...given, request: { ...given.request, body: bytes(text) } });
    const body = (await store.get(given.id))?.request.body;
    expect(body && Buffer.from(body).toString()).toBe(text);
    expect(body?.byteLength).toBe(text.length);
  }
});
