import { execFileSync } from "node:child_process";
import { getRandomValues } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { copyFile, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createSdk, post, type Sdk } from "samekey";
import { type SqliteDriver, sqliteStore } from "samekey/stores/sqlite";
import { createMockServer, lose } from "samekey/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadDriver } from "../../../src/stores/sqlite/driver.js";

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ENDS = ["", "-wal", "-shm"];

/** Those that can be loaded here: Node 20 carries no node:sqlite, and `npm run check:node24` has nothing else. */
const drivers: ("better-sqlite3" | "node:sqlite")[] = [];
for (const name of ["better-sqlite3", "node:sqlite"] as const) {
  await loadDriver(name).then(
    () => drivers.push(name),
    () => console.warn(`copies are not put back through ${name}: Node ${process.version} cannot load it here`),
  );
}

/** A program on one file, which may be copied and put back; its clock is ahead of the wall's by as much as is said. */
async function setting(name = drivers[0]) {
  const directory = await mkdtemp(join(tmpdir(), "samekey-restored-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const driver: SqliteDriver = await loadDriver(name);
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  let path = join(directory, "store.sqlite");
  const server = createMockServer();
  let ahead = 0;
  const clock = {
    now: () => Date.now() + ahead,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      }),
  };
  const clear = async () => {
    for (const end of ENDS) await rm(path + end, { force: true });
  };
  return {
    server,
    directory,
    path: () => path,
    move(to: string) {
      path = to;
    },
    pass: (ms: number) => {
      ahead += ms;
    },
    /** What was told of copies. */
    told: () => warn.mock.calls.map(([text]) => String(text)),
    /** As an operator does: while nothing has it open. */
    save: () => copyFile(path, `${path}.copy`),
    /** The copy gets the file's name. */
    async putBack() {
      await clear();
      await copyFile(`${path}.copy`, `${path}.new`);
      await rename(`${path}.new`, path);
    },
    /** The copy is written over the file. */
    async overwrite() {
      for (const end of ENDS.slice(1)) await rm(path + end, { force: true });
      const { ino } = statSync(path);
      await writeFile(path, readFileSync(`${path}.copy`));
      expect(statSync(path).ino).toBe(ino);
    },
    sql<T>(work: (db: ReturnType<SqliteDriver>) => T): T {
      const db = driver(path);
      try {
        return work(db);
      } finally {
        db.close();
      }
    },
    async run<T>(work: (sdk: Sdk<typeof operations>) => Promise<T>): Promise<T> {
      const sdk = createSdk({
        name: "shop",
        owner: "single",
        retention: "24h",
        baseUrl: server.baseUrl,
        store: sqliteStore({ path, driver }),
        fetch: server.fetch,
        clock,
        // The longest of waits: what waits for the next attempt does so when the program ends.
        random: (size) => (size === 4 ? new Uint8Array(4).fill(255) : getRandomValues(new Uint8Array(size))),
        operations,
      });
      try {
        return await work(sdk);
      } finally {
        await sdk.close();
      }
    },
  };
}

type Setting = Awaited<ReturnType<typeof setting>>;

const save = (sdk: Sdk<typeof operations>) => sdk.operation("transfer", { amount: 1 }, { intent: "one" }).save();
const resume = (sdk: Sdk<typeof operations>) => sdk.resume({ wait: "10s" });
const found = (sdk: Sdk<typeof operations>) => sdk.find({ name: "transfer", intent: "one" });

test("what is older than its key's life is never sent again from an old copy", async () => {
  const { server, pass, save, putBack, run } = await setting();
  server.script(lose.response());
  await run(async (sdk) => {
    const sent = sdk.operation("transfer", { amount: 1 }, { intent: "sent" });
    await expect(sent.send({ wait: 50 })).rejects.toMatchObject({ code: "pending" });
    await sdk.operation("transfer", { amount: 2 }, { intent: "late", deadline: "1h" }).save();
  });
  await save();
  await run(resume);
  expect(server.effects).toHaveLength(2);
  const before = server.calls.length;

  pass(48 * HOUR);
  await putBack();
  await run(async (sdk) => {
    expect((await sdk.find({ name: "transfer", intent: "sent" }))?.state, "as the copy has it").toBe("pending");
    await resume(sdk);
    for (const intent of ["sent", "late"]) {
      const record = await sdk.find({ name: "transfer", intent });
      expect(record, intent).toMatchObject({ state: "unresolved", code: "key_expired" });
      await expect(sdk.retry(record?.id ?? "")).rejects.toMatchObject({ code: "key_expired" });
    }
  });
  expect(server.calls.length - before).toBe(0);
});

test("what is younger is sent from an old copy under its old key, which the server knows", async () => {
  const { server, save, putBack, run } = await setting();
  server.script(lose.response());
  await run(async (sdk) => {
    const sent = sdk.operation("transfer", { amount: 1 }, { intent: "sent" });
    await expect(sent.send({ wait: 50 })).rejects.toMatchObject({ code: "pending" });
  });
  await save();
  await run(resume);
  await putBack();
  await run(resume);
  expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
  expect(server.effects).toHaveLength(1);
});

const ways: readonly (readonly [string, (at: Setting) => Promise<void>])[] = [
  ["renamed to the file's name", (at) => at.putBack()],
  ["written over the file", (at) => at.overwrite()],
];

describe.each(drivers)("through %s", (driver) => {
  /** A copy in which it was not sent yet; the original then sends it. */
  async function overtaken(): Promise<Setting> {
    const at = await setting(driver);
    await at.run(save);
    await at.save();
    at.pass(MINUTE);
    await at.run(resume);
    expect(at.server.effects).toHaveLength(1);
    expect(at.told()).toEqual([]);
    return at;
  }

  describe.each(ways)("a copy, %s,", (_, restore) => {
    test("sends nothing that was never sent in it once the key is too old", async () => {
      const at = await overtaken();
      at.pass(7 * 24 * HOUR);
      await restore(at);
      await at.run(async (sdk) => {
        await resume(sdk);
        expect(await found(sdk)).toMatchObject({ state: "unresolved", code: "key_expired" });
      });
      expect(at.server.calls).toHaveLength(1);
      expect(at.told()).toEqual([expect.stringContaining("1 operations of it that were not sent yet count as sent")]);
    });

    test("sends it under the same key before, which the server answers from its record", async () => {
      const at = await overtaken();
      at.pass(12 * HOUR);
      await restore(at);
      await at.run(async (sdk) => {
        await resume(sdk);
        expect(await found(sdk)).toMatchObject({ state: "succeeded", response: { replayed: true } });
      });
      expect(at.server.calls.map(({ key }) => key)).toEqual(Array(2).fill(at.server.calls[0]?.key));
      expect(at.server.effects).toHaveLength(1);
    });

    test("is dealt with once, and not by who only reads", async () => {
      const at = await overtaken();
      at.pass(12 * HOUR);
      await restore(at);
      const before = readFileSync(at.path());
      await at.run(async (sdk) => expect((await found(sdk))?.uncertainSince).toBeUndefined());
      expect(readFileSync(at.path()).equals(before)).toBe(true);
      expect(at.told()).toEqual([]);

      await Promise.all([at.run(resume), at.run(resume)]);
      await at.run(async (sdk) => {
        await sdk.operation("transfer", { amount: 2 }, { intent: "one more" }).save();
        expect((await sdk.find({ name: "transfer", intent: "one more" }))?.uncertainSince).toBeUndefined();
      });
      at.pass(HOUR);
      await at.run(resume);
      expect(at.told()).toHaveLength(1);
      expect(at.server.effects).toHaveLength(2);
    });
  });

  const harmless: readonly (readonly [string, (at: Setting) => unknown])[] = [
    ["is opened again", () => {}],
    [
      "was renamed",
      async (at) => {
        const to = join(at.directory, "elsewhere.sqlite");
        await rename(at.path(), to);
        at.move(to);
      },
    ],
    ["was vacuumed", (at) => at.sql((db) => db.exec("vacuum"))],
    ["lost what stood beside it", (at) => rm(`${at.path()}-token`)],
  ];
  test.each(harmless)("a file that %s is the original: what waits in it may still get a new key", async (_, happen) => {
    const at = await setting(driver);
    await at.run(save);
    await happen(at);
    at.pass(7 * 24 * HOUR);
    await at.run(async (sdk) => {
      await resume(sdk);
      expect((await found(sdk))?.state).toBe("succeeded");
    });
    expect(at.server.effects).toHaveLength(1);
    expect(at.told()).toEqual([]);
  });

  test("a program that was killed finds its file as the original, its log left behind", async () => {
    const at = await setting(driver);
    const script = `
      import { createSdk, post } from "samekey";
      import { sqliteStore } from "samekey/stores/sqlite";
      const sdk = createSdk({ name: "shop", owner: "single", retention: "24h", baseUrl: "${at.server.baseUrl}",
        store: sqliteStore({ path: ${JSON.stringify(at.path())}, driver: "${driver}" }),
        operations: { transfer: post("/transfers") } });
      await sdk.operation("transfer", { amount: 1 }, { intent: "one" }).save();
      process.kill(process.pid, "SIGKILL");`;
    expect(() => execFileSync(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" })).toThrow();
    expect(existsSync(`${at.path()}-wal`)).toBe(true);
    at.pass(7 * 24 * HOUR);
    await at.run(async (sdk) => {
      await resume(sdk);
      expect((await found(sdk))?.state).toBe("succeeded");
    });
    expect(at.told()).toEqual([]);
  });
});

test("what stands beside the file is for its owner only", async () => {
  const at = await setting();
  await at.run(save);
  expect(statSync(`${at.path()}-token`).mode & 0o777).toBe(0o600);
});

test("a file that says not which it is counts as a copy", async () => {
  const at = await setting();
  await at.run(save);
  at.sql((db) => db.exec("drop table original"));
  at.pass(7 * 24 * HOUR);
  await at.run(async (sdk) => {
    await resume(sdk);
    expect(await found(sdk)).toMatchObject({ state: "unresolved", code: "key_expired" });
  });
});

test("it tells how much room its file takes, and how much there is", async () => {
  const { run } = await setting();
  await run(async (sdk) => {
    await sdk.operation("transfer", { amount: 1 }).save();
    const { durable, usage = 0, quota = 0, persisted } = await sdk.storage();
    expect([durable, persisted]).toEqual([true, undefined]);
    expect(usage).toBeGreaterThan(0);
    expect(quota).toBeGreaterThan(usage);
  });
});
