import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import type { NewRecord, OperationRecord } from "../../../src/core/record.js";
import type { Store } from "../../../src/store.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { bin, samekey, start } from "../../support/command.js";
import { blocked, bytes, context, newRecord, succeeded, unresolved } from "../../support/records.js";
import { type HttpServer, startHttpServer } from "../client/http-server.js";

const HOUR = 3_600_000;
let directory: string;
let file: string;
let server: HttpServer | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "samekey-command-"));
  file = join(directory, "shop.sqlite");
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(directory, { recursive: true, force: true });
});

/** Opens the file for `work`. */
async function inStore<T>(work: (store: Store) => Promise<T>, path = file): Promise<T> {
  const store = sqliteStore({ path });
  await store.open(context);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** An operation as it stands after `steps`; recorded an hour ago. */
function recorded(
  change: Partial<NewRecord>,
  ...steps: ((record: OperationRecord, at: number) => OperationRecord)[]
): Promise<OperationRecord> {
  return inStore(async (store) => {
    const at = Date.now() - HOUR;
    const { record } = await store.insert(newRecord({ createdAt: at, keyAt: at, nextAttemptAt: at, ...change }));
    for (const step of steps) await store.update(record.id, (standing) => step(standing, at));
    return (await store.get(record.id)) as OperationRecord;
  });
}

const get = (id: string): Promise<OperationRecord | undefined> => inStore((store) => store.get(id));

/** Given up a week ago, under a key of a day. */
const pastItsKey = (record: OperationRecord, at: number): OperationRecord => unresolved(record, at - 7 * 24 * HOUR);

describe("samekey list", () => {
  it("lists operations in their order, by what narrows it, a page at a time", async () => {
    const first = await recorded({ intent: "order-1" }, succeeded);
    const second = await recorded({ intent: "order-2", owner: "bob" }, unresolved);
    const third = await recorded({ intent: "order-3" }, blocked);

    const all = await samekey("list", "--file", file);
    expect(all.code).toBe(0);
    expect(all.stdout.split("\n").map((line) => line.split(/ {2,}/).slice(0, 5))).toEqual([
      ["ID", "STATE", "OPERATION", "INTENT", "OWNER"],
      [first.id, "succeeded", "transfer", "order-1", "ada"],
      [second.id, "unresolved (attempts)", "transfer", "order-2", "bob"],
      [third.id, "blocked (refused)", "transfer", "order-3", "ada"],
      [""],
    ]);
    const ids = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await samekey("list", "--file", file, "--json", ...args);
      return stdout.split("\n").flatMap((line) => (line ? [JSON.parse(line).id] : []));
    };
    expect(await ids("--state", "blocked,unresolved")).toEqual([second.id, third.id]);
    expect(await ids("--owner", "bob")).toEqual([second.id]);
    expect(await ids("--intent", "order-3")).toEqual([third.id]);
    expect(await ids("--operation", "refund")).toEqual([]);
    const page = await samekey("list", "--file", file, "--limit", "2");
    expect(page.stderr).toBe(`there may be more: --after ${second.seq}\n`);
    expect(await ids("--after", String(second.seq))).toEqual([third.id]);
  });

  it("prints neither bodies nor headers unless it is asked to", async () => {
    const { id } = await recorded(
      {
        request: {
          ...newRecord().request,
          headers: { accept: "application/json", "x-note": "SENTINEL-header" },
          body: bytes('{"card":"SENTINEL-body"}'),
        },
      },
      (record, at) => succeeded(record, at, '{"token":"SENTINEL-answer"}'),
    );
    for (const verb of [["list"], ["show", id]]) {
      for (const form of [[], ["--json"]]) {
        const { code, stdout, stderr } = await samekey(...verb, "--file", file, ...form);
        expect(code).toBe(0);
        expect(stdout + stderr).not.toContain("SENTINEL");
      }
      const { stdout } = await samekey(...verb, "--file", file, "--json", "--bodies");
      expect(stdout.match(/SENTINEL-\w+/g)).toEqual(["SENTINEL-header", "SENTINEL-body", "SENTINEL-answer"]);
    }
  });

  it("ends without a word where the reader has seen enough", async () => {
    await recorded({});
    const child = spawn(process.execPath, [bin, "list", "--file", file]);
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect(stderr).toBe("");
    expect(code).toBe(141);
  });

  it("shows what programs have stored without letting it command the terminal", async () => {
    const { id } = await recorded({ intent: "a\u001b[2Jb\u202e\nfake line" });
    for (const verb of [["list"], ["show", id]]) {
      const { stdout } = await samekey(...verb, "--file", file);
      expect(stdout).toContain("a\\u{1b}[2Jb\\u{202e}\\u{a}fake line");
    }
  });
});

describe("samekey show", () => {
  it("tells what happened, whether it may have been applied, and how long the key is good", async () => {
    const { id } = await recorded({ intent: "order-1" }, (record, at) => ({
      ...unresolved(record, at),
      attempts: 2,
      history: [
        { at, ms: 30_000, verdict: "uncertain", cause: "TimeoutError" },
        { at: at + 40_000, ms: 12, verdict: "uncertain", status: 502 },
      ],
    }));
    const { stdout } = await samekey("show", id, "--file", file);
    expect(stdout).toMatch(/^\S+ {2}transfer {2}unresolved \(attempts\)$/m);
    expect(stdout).toMatch(/may have been applied +yes, since .* \(1 h ago\)/);
    expect(stdout).toMatch(/key's time +the server is asked under it until .* \(in 22 h\)/);
    expect(stdout).toMatch(/ {2}30000 ms {2}uncertain {2}TimeoutError/);
    expect(stdout).toMatch(/ {2}12 ms +uncertain {2}502/);
    expect(stdout).toContain(`samekey retry ${id} --file ${file}\n`);
  });

  it("proposes commands that can be pasted, in the words of what is known", async () => {
    const { id } = await recorded({ intent: "order-1" }, pastItsKey);
    const { stdout } = await samekey("show", id, "--file", file);
    expect(stdout).not.toContain("samekey retry");
    expect(stdout).toContain(`samekey reconcile ${id} not-applied --file ${file}\n`);
    expect(stdout).toContain(`samekey reissue ${id} --after-reconciling "…" --file ${file}\n`);
    expect(stdout).toContain("or give it up, its outcome unknown: ");

    const waiting = await recorded({ intent: "order-2" }, (record) => ({
      ...record,
      state: "blocked",
      blockedBy: "credentials",
    }));
    const odd = join(directory, "Ada's shop.sqlite");
    await copyFile(file, odd);
    const { stdout: told } = await samekey("show", waiting.id, "--file", odd);
    const [quoted] = /(?<=or give it up: samekey discard \S+ --reason "…" --file ).*/.exec(told) ?? [];
    expect(quoted).toBe(`'${odd.replace("'", "'\\''")}'`);
  });

  it("ends with 2 where there is no such operation", async () => {
    await recorded({});
    const { code, stderr } = await samekey("show", "nobody", "--file", file);
    expect(code).toBe(2);
    expect(stderr).toContain("known: nobody");
  });
});

describe("samekey stats", () => {
  it("counts by state", async () => {
    await recorded({}, succeeded);
    await recorded({}, succeeded);
    await recorded({});
    const { stdout } = await samekey("stats", "--file", file, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ pending: { count: 1 }, succeeded: { count: 2 } });
    expect((await samekey("stats", "--file", file)).stdout).toMatch(/^pending +1 +the oldest was recorded 1 h ago$/m);
  });
});

describe("which operations", () => {
  it("are those of a file that exists: none is made", async () => {
    const { code, stderr } = await samekey("list", "--file", file);
    expect(code).toBe(2);
    expect(stderr).toContain(`there is no file ${file}`);
    expect(existsSync(file)).toBe(false);
  });

  it("are named where the name is another, or missing", async () => {
    await recorded({});
    for (const words of [["--name", "shp"], []]) {
      const { code, stderr } = await start(["list", ...words], { SAMEKEY_DIR: directory }).ended;
      expect(code).toBe(2);
      expect(stderr).toContain(`${directory} has shop`);
    }
    const empty = join(directory, "none");
    const { stderr } = await start(["list", "--name", "shop"], { SAMEKEY_DIR: empty }).ended;
    expect(stderr).toContain(`there is no file ${join(empty, "shop.sqlite")}; no store is in ${empty}`);
  });

  it("are in the default directory, by the sdk's name", async () => {
    const { id } = await recorded({});
    const { stdout } = await start(["list", "--name", "shop"], { SAMEKEY_DIR: directory }).ended;
    expect(stdout).toContain(id);
  });

  it("have to be said", async () => {
    const { code, stderr } = await samekey("list");
    expect(code).toBe(2);
    expect(stderr).toContain("--file");
  });
});

describe("samekey retry", () => {
  it("makes an operation due again under the same key, while the server remembers it", async () => {
    const before = await recorded({}, unresolved);
    const { code, stdout } = await samekey("retry", before.id, "--file", file);
    expect([code, stdout]).toEqual([0, `${before.id}  transfer  pending\n`]);
    expect(await get(before.id)).toMatchObject({ state: "pending", key: before.key });
  });

  it("refuses past the key's time, says why, and changes nothing", async () => {
    const before = await recorded({}, pastItsKey);
    const { code, stderr } = await samekey("retry", before.id, "--file", file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/reconcile/);
    expect(await get(before.id)).toEqual(before);
  });

  it("takes all that are dead letters, at a rate, and leaves the rest alone", async () => {
    const pending = await recorded({});
    const dead = await recorded({}, unresolved);
    const old = await recorded({}, pastItsKey);
    const held = await recorded({}, blocked);
    const dry = await samekey("retry", "--all", "--dry-run", "--file", file);
    expect(dry.stdout.trim().split("\n")).toEqual([dead.id, old.id, held.id]);
    expect(await get(dead.id)).toEqual(dead);

    const { code, stdout, stderr } = await samekey("retry", "--all", "--rate", "20/s", "--file", file);
    expect(code).toBe(1);
    expect(stdout.match(/^\S+/gm)).toEqual([dead.id, held.id]);
    expect(stderr).toContain("2 done, 1 left as they were");
    expect(await get(pending.id)).toEqual(pending);
  });

  it("wants to know which", async () => {
    await recorded({}, unresolved);
    expect((await samekey("retry", "--file", file)).code).toBe(2);
  });
});

describe("samekey discard and reconcile", () => {
  it("give an operation up with a reason, which is kept", async () => {
    const { id } = await recorded({}, unresolved);
    expect((await samekey("discard", id, "--file", file)).code).toBe(2);
    const { code } = await samekey("discard", id, "--reason", "test account", "--file", file);
    expect(code).toBe(0);
    expect((await get(id))?.resolution).toMatchObject({ how: "discarded", reason: "test account" });
  });

  it("write down what was found out", async () => {
    const { id } = await recorded({}, unresolved);
    const { stdout } = await samekey("reconcile", id, "applied", "--file", file);
    expect(stdout).toBe(`${id}  transfer  succeeded (applied)\n`);
    expect((await samekey("reconcile", id, "perhaps", "--file", file)).code).toBe(2);
  });

  it("say so, and fail, where the outcome was another already", async () => {
    const { id } = await recorded({}, succeeded);
    expect((await samekey("reconcile", id, "applied", "--file", file)).code).toBe(0);
    const { code, stderr } = await samekey("reconcile", id, "not-applied", "--file", file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The operation has an outcome already: `transfer`.*It was applied\. Its outcome stands/);
    expect((await get(id))?.state).toBe("succeeded");
  });
});

describe("samekey reissue", () => {
  it("records a new operation in the place of one past its key, once, with the reason kept", async () => {
    const old = await recorded({ intent: "order-1" }, pastItsKey);
    const reissue = () => samekey("reissue", old.id, "--after-reconciling", "not in the ledger", "--file", file);
    expect((await reissue()).code).toBe(0);
    expect((await reissue()).code).toBe(0);
    const [before, ...others] = await inStore((store) => store.page({}));
    expect(before).toMatchObject({ id: old.id, resolution: { how: "not-applied", reason: "not in the ledger" } });
    expect(others).toMatchObject([{ state: "pending", reissueOf: old.id, intent: "order-1" }]);
    expect(others[0]?.key).not.toBe(old.key);
    const shown = await samekey("show", old.id, "--file", file);
    expect(shown.stdout).toMatch(new RegExp(`reissued as +${others[0]?.id}, pending\\n`));
    const { stdout } = await samekey("show", old.id, "--file", file, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ id: old.id, reissuedAs: others[0]?.id });
    expect(others[0]?.wire.value).toBe(others[0]?.key);
    expect(new Uint8Array(others[0]?.request.body ?? new ArrayBuffer())).toEqual(
      new Uint8Array(old.request.body ?? new ArrayBuffer()),
    );
  });

  it("is refused while the server remembers the key, and while the operation is alive", async () => {
    const young = await recorded({}, unresolved);
    const alive = await recorded({});
    const done = await recorded({}, succeeded);
    for (const record of [young, alive, done]) {
      const { code } = await samekey("reissue", record.id, "--after-reconciling", "x", "--file", file);
      expect(code).not.toBe(0);
      expect(await get(record.id)).toEqual(record);
    }
    expect(await inStore((store) => store.page({}))).toHaveLength(3);
  });
});

describe("samekey export and import", () => {
  async function carried(other: string, ...args: string[]): Promise<void> {
    const { stdout } = await samekey("export", "--bodies", "--file", file);
    await writeFile(join(directory, "lines"), stdout);
    const { code, stderr } = await samekey("import", join(directory, "lines"), "--moved", "--file", other, ...args);
    expect([code, stderr]).toEqual([0, ""]);
  }

  it("carry operations whole; whatever may still be sent counts as sent since its key was made", async () => {
    const done = await recorded({ intent: "order-1" }, succeeded);
    const never = await recorded({ intent: "order-2", lane: "a" });
    const behind = await recorded({ intent: "order-3", lane: "a" });
    const other = join(directory, "other.sqlite");
    await carried(other);
    const [first, second, third] = await inStore((store) => store.page({}), other);
    expect(first).toEqual({ ...done, seq: first?.seq, rev: 1 });
    expect(second).toMatchObject({ id: never.id, key: never.key, uncertainSince: never.keyAt, sentAt: never.keyAt });
    expect(third).toMatchObject({ id: behind.id, parked: true });
  });

  it("are safe to repeat", async () => {
    await recorded({});
    const other = join(directory, "other.sqlite");
    await carried(other);
    const again = await samekey("import", join(directory, "lines"), "--moved", "--file", other);
    expect([again.code, again.stdout]).toEqual([0, "0 recorded, 1 were there already, 0 refused\n"]);
  });

  it("refuse what may get another key where it comes from, unless nothing uses that store any more", async () => {
    await recorded({});
    const sent = await recorded({ sentAt: Date.now(), uncertainSince: Date.now() });
    const named = await recorded({ wire: { ...sent.wire, mint: "never" } });
    const lines = (await samekey("export", "--bodies", "--file", file)).stdout;
    const other = join(directory, "other.sqlite");
    await inStore(async () => {}, other);
    const { code, stdout, stderr } = await start(["import", "-", "--file", other], {}, lines).ended;
    expect([code, stdout]).toEqual([1, "2 recorded, 0 were there already, 1 refused\n"]);
    expect(stderr).toMatch(/^line 1 is not recorded: .*--moved$/m);
    const there = await inStore((store) => store.page({}), other);
    expect(there.map(({ id }) => id)).toEqual([sent.id, named.id]);
  });

  it("say which line is wrong, and record the others", async () => {
    await recorded({});
    const good = (await samekey("export", "--bodies", "--file", file)).stdout.trim();
    const bad = JSON.stringify({ ...JSON.parse(good), key: "no key" });
    const other = join(directory, "other.sqlite");
    const lines = [bad, "nonsense", "{}", good].join("\n");
    const { code, stdout, stderr } = await start(["import", "-", "--moved", "--file", other], {}, lines).ended;
    expect(code).toBe(1);
    expect(stdout).toBe("1 recorded, 0 were there already, 3 refused\n");
    expect(stderr.match(/^line \d/gm)).toEqual(["line 1", "line 2", "line 3"]);
  });

  it("ask to be told that bodies are written", async () => {
    await recorded({});
    expect((await samekey("export", "--file", file)).code).toBe(2);
  });
});

describe("samekey verify", () => {
  it("finds nothing wrong in a sound file", async () => {
    await recorded({}, succeeded);
    const { code, stderr } = await samekey("verify", "--file", file);
    expect([code, stderr]).toEqual([0, "1 record checked, nothing wrong\n"]);
  });

  it("finds what is miscounted, and a key that is not the one that is sent", async () => {
    const { id } = await recorded({});
    const db = new Database(file);
    db.exec('update counts set n = 5; update operations set record = replace(record, \'"value":"0\', \'"value":"f\')');
    db.close();
    const { code, stdout } = await samekey("verify", "--file", file);
    expect(code).toBe(1);
    expect(stdout).toContain("5 are counted as pending, and 1 are there");
    expect(stdout).toContain(`${id}: its key is not the one that is sent`);
  });

  it("finds a page that is damaged", async () => {
    for (let i = 0; i < 40; i += 1) await recorded({ intent: `order-${i}` });
    const db = new Database(file);
    db.pragma("wal_checkpoint(truncate)");
    const page = db.prepare("select rootpage from sqlite_schema where name = 'intent'").pluck().get() as number;
    const size = db.pragma("page_size", { simple: true }) as number;
    db.close();
    const content = await readFile(file);
    content.fill(0xff, (page - 1) * size + 200, page * size);
    await writeFile(file, content);
    const { code, stdout, stderr } = await samekey("verify", "--file", file);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/store: |corrupt|damaged/);
  });
});

describe("samekey prune", () => {
  it("drops what is past its keep time, and nothing else", async () => {
    const old = await recorded({}, (record, at) => succeeded(record, at - 40 * 24 * HOUR));
    const remembered = await recorded({ intent: "order-1" }, (record, at) => succeeded(record, at - 40 * 24 * HOUR));
    const young = await recorded({}, succeeded);
    const dead = await recorded({}, pastItsKey);
    const { code, stdout } = await samekey("prune", "--file", file);
    expect([code, stdout]).toEqual([0, "2 pruned\n"]);
    expect(await get(old.id)).toBeUndefined();
    expect(await get(remembered.id)).toMatchObject({ intent: "order-1", hash: expect.any(String) });
    expect(await get(young.id)).toEqual(young);
    expect(await get(dead.id)).toEqual(dead);
  });
});

describe("samekey resume", () => {
  /** The module of a program whose operations go to `url`. */
  async function program(url: string): Promise<string> {
    const path = join(directory, "sdk.mjs");
    const entry = (name: string): string => JSON.stringify(join(root, "dist", name));
    await writeFile(
      path,
      `import { createSdk, post } from ${entry("index.node.js")};
       import { sqliteStore } from ${entry("stores/sqlite.js")};
       export default createSdk({
         name: "shop", baseUrl: ${JSON.stringify(url)}, owner: () => undefined, retention: "24h",
         headers: ({ owner }) => ({ authorization: "Bearer " + owner }),
         store: sqliteStore({ path: ${JSON.stringify(file)} }),
         operations: { transfer: post("/transfers") },
       });`,
    );
    return path;
  }

  const at = (url: string): Partial<NewRecord> => ({
    origin: url,
    request: { ...newRecord().request, url: `${url}/transfers`, dropped: [] },
  });

  it("sends what is due as its owner, and ends with 0 when nothing is left", async () => {
    server = await startHttpServer((_, response) => response.writeHead(201).end("{}"));
    const { id, key } = await recorded(at(server.url));
    const { code, stdout } = await samekey("resume", "--sdk", await program(server.url), "--json");
    expect(JSON.parse(stdout)).toMatchObject({ succeeded: 1, remaining: 0 });
    expect(code).toBe(0);
    expect(server.requests[0]?.headers).toMatchObject({ "idempotency-key": key, authorization: "Bearer ada" });
    expect((await get(id))?.state).toBe("succeeded");
  });

  it("leaves everything as it was when it is interrupted", async () => {
    let answers = false;
    server = await startHttpServer((_, response) => {
      if (answers) response.writeHead(201).end("{}");
    });
    const { id, key } = await recorded(at(server.url));
    const path = await program(server.url);
    const running = start(["resume", "--sdk", path]);
    await vi.waitFor(() => expect(server?.requests).toHaveLength(1), { timeout: 30_000 });
    running.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("interrupted");
    expect(await get(id)).toMatchObject({ state: "pending", key });

    answers = true;
    expect((await samekey("retry", id, "--file", file)).code).toBe(0);
    expect((await samekey("resume", "--sdk", path)).code).toBe(0);
    expect(new Set(server.requests.map((seen) => seen.headers["idempotency-key"]))).toEqual(new Set([key]));
  });

  it("never sends what was imported past the life of its key", async () => {
    server = await startHttpServer((_, response) => response.writeHead(201).end("{}"));
    const keyAt = Date.now() - 48 * HOUR;
    await recorded({ ...at(server.url), keyAt, createdAt: keyAt, nextAttemptAt: keyAt });
    const { stdout } = await samekey("export", "--bodies", "--file", file);
    await rm(file);
    await start(["import", "-", "--moved", "--file", file], {}, stdout).ended;
    const resumed = await samekey("resume", "--sdk", await program(server.url), "--json");
    expect([resumed.code, JSON.parse(resumed.stdout)]).toMatchObject([1, { unresolved: 1, remaining: 0 }]);
    expect(server.requests).toEqual([]);
  });

  it("sends a reissued operation at once where the program's Sdk is given", async () => {
    server = await startHttpServer((_, response) => response.writeHead(201).end("{}"));
    const old = await recorded(at(server.url), pastItsKey);
    const path = await program(server.url);
    const { code, stdout } = await samekey("reissue", old.id, "--sdk", path, "--after-reconciling", "not there");
    expect(code).toBe(0);
    expect(stdout).toMatch(/transfer {2}succeeded$/m);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers["idempotency-key"]).not.toBe(old.key);
  });
});
