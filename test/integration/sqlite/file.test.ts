import { chmodSync, copyFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { readerOf } from "../../../src/core/record.js";
import type { Store } from "../../../src/store.js";
import { SCHEMA_VERSION } from "../../../src/stores/sqlite/schema.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { context, newRecord } from "../../support/records.js";
import { contents, directory, later, opened, refusal } from "./tools.js";

/** What is done with the store at this path, which is closed afterwards. */
async function use<T>(path: string, act: (store: Store) => Promise<T>): Promise<T> {
  const store = await opened({ path });
  return act(store).finally(() => store.close());
}

/** A path at which a store with one record stands, closed. */
async function filled(): Promise<string> {
  const path = join(directory(), "store.sqlite");
  const store = await opened({ path });
  await store.insert(newRecord());
  await store.close();
  return path;
}

/** Opening is refused with this code, and leaves every byte as it was. */
async function refused(path: string, code: string, detail: RegExp): Promise<void> {
  const before = contents(join(path, ".."));
  const error = await refusal({ path });
  expect(error.code).toBe(code);
  expect(error.message).toMatch(detail);
  expect(error.message).toContain(path);
  expect(contents(join(path, ".."))).toEqual(before);
}

function written(bytes: string | Buffer): string {
  const path = join(directory(), "store.sqlite");
  writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}

/** A file that another program has made. */
function foreign(sql: string): string {
  const path = written("");
  const db = new Database(path);
  db.exec(sql);
  db.close();
  return path;
}

test("a file that is no database is refused and left alone", async () => {
  await refused(written("dear diary"), "corrupt", /is not a database/);
  await refused(written(Buffer.alloc(8192, 7)), "corrupt", /is not a database/);
});

test("a store that may not be written to is refused when it is opened", async ({ skip }) => {
  if (process.getuid?.() === 0) skip("root may write to everything");
  const path = await filled();
  chmodSync(path, 0o400);
  await refused(path, "unavailable", /EACCES/);
});

test("a database of another program is refused and left alone", async () => {
  await refused(foreign("create table notes (text)"), "corrupt", /another program/);
  await refused(foreign("pragma application_id = 77; create table notes (text)"), "corrupt", /another program/);
});

test("a store of a newer samekey is refused and left alone", async () => {
  const path = await filled();
  const db = new Database(path);
  db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
  db.close();
  await refused(
    path,
    "newer_schema",
    new RegExp(`version ${SCHEMA_VERSION + 1}, this samekey knows ${SCHEMA_VERSION}`),
  );
});

test("a store from before the first release is refused with the remedy, and left alone", async () => {
  const path = await filled();
  const db = new Database(path);
  db.exec("drop index kept; drop index bare; alter table operations drop column kept");
  db.exec("alter table operations drop column bare; alter table operations add column settled_at real");
  db.close();
  await refused(path, "corrupt", /before the first release.*move the file away/);
});

test("a newer version that stands in the log alone is seen as well", async () => {
  const path = await filled();
  const writer = new Database(path);
  writer.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
  const copy = join(directory(), "store.sqlite");
  for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, copy + suffix);
  writer.close();
  expect((await refusal({ path: copy })).code).toBe("newer_schema");
});

test("a store that was cut off is refused, and never replaced", async () => {
  const path = await filled();
  truncateSync(path, 50);
  await refused(path, "corrupt", /malformed|is not a database/);
});

test("a damaged page is reported when it is met", async () => {
  const path = await filled();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, 4096));
  const store = await opened({ path });
  await expect(store.page({})).rejects.toMatchObject({ code: "corrupt" });
  await expect(store.insert(newRecord())).rejects.toMatchObject({ code: "corrupt" });
});

test("a log without its file is refused: SQLite would delete it", async () => {
  const path = await filled();
  const writer = new Database(path);
  writer.exec("update removed set seq = seq + 1");
  const copy = join(directory(), "store.sqlite");
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  writer.close();
  const log = statSync(`${copy}-wal`).size;
  const error = await refusal({ path: copy });
  expect([error.code, error.message]).toEqual(["corrupt", expect.stringMatching(/write-ahead log is not/)]);
  expect(statSync(`${copy}-wal`).size).toBe(log);
});

test("an open that failed does not stand in the way of the next one", async () => {
  const path = written("dear diary");
  const store = sqliteStore({ path });
  later(() => store.close());
  await expect(store.open(context)).rejects.toMatchObject({ code: "corrupt" });
  rmSync(path);
  await store.open(context);
  expect((await store.insert(newRecord())).joined).toBeUndefined();
});

test("a store that all can read is refused, with the remedy (F86)", async () => {
  const path = await filled();
  chmodSync(path, 0o644);
  await refused(path, "unavailable", /every user of this machine can read it.*chmod 600/);
  chmodSync(path, 0o600);
  expect(await (await opened({ path })).counts()).toEqual({ pending: 1 });
});

test("one that its group can read is opened with a warning (F86)", async () => {
  const path = await filled();
  chmodSync(path, 0o640);
  const warned = new Promise<Error & { code?: string }>((resolve) => process.once("warning", resolve));
  await opened({ path });
  expect(await warned).toMatchObject({ code: "SAMEKEY_STORE_READABLE", message: expect.stringContaining("chmod 600") });
});

test("file, log and index are made so that only their owner can read them (F86)", async () => {
  const umask = process.umask(0);
  try {
    const path = join(directory(), "made", "store.sqlite");
    const store = await opened({ path });
    await store.insert(newRecord());
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  } finally {
    process.umask(umask);
  }
});

test("opening it again does not take away the lock that this process has on it", async ({ skip }) => {
  if (process.platform !== "linux") skip("only Linux lists locks");
  const path = join(directory(), "store.sqlite");
  const store = await opened({ path });
  await store.insert(newRecord());
  const locks = () =>
    readFileSync("/proc/locks", "utf8")
      .split("\n")
      .filter((lock) => lock.includes(`${process.pid} `) && lock.includes(`:${statSync(path).ino} `));
  expect(locks()).toHaveLength(1);
  await opened({ path });
  expect(locks()).toHaveLength(1);
});

test("a store that was made before there was a reader works on, beside older programs too", async () => {
  const path = await filled();
  const bank = { wire: { ...newRecord().wire, profile: "bank" } };
  const { record: left } = await use(path, (store) => store.insert(newRecord(bank)));
  const db = new Database(path);
  db.exec("drop index due; drop index due_of_all; alter table operations drop column reader");
  db.exec("create index due on operations (owner, origin, due) where due is not null");
  db.exec("create index due_of_all on operations (origin, due) where due is not null");
  const columns = db.pragma("table_info(operations)") as { name: string }[];
  const names = columns.map(({ name }) => name).join(", ");
  const theirs = names.replace("seq, ", "");
  const copies = theirs.replace(/\b(id|key)\b/g, "$1 || 'x'").replace(/\brecord\b/, "replace(record, id, id || 'x')");
  const exceptReaders: ReadonlySet<string> = new Set([readerOf(left)]);
  const looked: string[] = [];
  await use(path, async (store) => {
    // As an older program writes, which has had the file open all the time.
    db.exec(`insert into operations (${theirs}) select ${copies} from operations where rev = 1`);
    await store.claim({ now: Date.now(), limit: 9, exceptReaders }, (it) => {
      looked.push(it.id);
      return it;
    });
    expect(await store.get(left.id)).toEqual(left);
  });
  db.close();
  expect(looked).toHaveLength(3);
  expect(looked).not.toContain(left.id);
  expect(looked).toContain(`${left.id}x`);
});
