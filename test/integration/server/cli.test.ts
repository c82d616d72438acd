import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { createIdempotency } from "../../../src/server/index.js";
import { bin, type Ended, environment, start } from "../../support/command.js";
import { hasPsql } from "../../support/psql.js";
import { type Fixture, makePool, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

/** On the fixture's database, unless `env` says otherwise. */
const samekey = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  start(args, { DATABASE_URL: fixture.url, ...env }).ended;

const offline = { DATABASE_URL: "" };

/** A new, empty database. */
async function emptyDatabase(name: string): Promise<string> {
  await fixture.pool.query(`CREATE DATABASE ${name}`);
  const url = new URL(fixture.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** All that the schema consists of, in a form that can be compared. */
async function catalog(url: string, schema: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT c.relname AS name, c.relkind AS kind, pg_get_expr(c.relpartbound, c.oid) AS bound,
          pg_get_partkeydef(c.oid) AS key, pg_get_indexdef(c.oid) AS index,
          (SELECT json_agg(json_build_array(attname, format_type(atttypid, atttypmod), attnotnull, attcollation,
              pg_get_expr(adbin, adrelid)) ORDER BY attnum)
            FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
            WHERE attrelid = c.oid AND attnum > 0 AND c.relkind IN ('r', 'p')) AS columns,
          (SELECT json_agg(pg_get_constraintdef(oid) ORDER BY conname) FROM pg_constraint WHERE conrelid = c.oid) AS checks
        FROM pg_class c WHERE relnamespace = $1::text::regnamespace
        UNION ALL
        SELECT proname, 'f', pg_get_functiondef(oid), NULL, NULL, NULL, NULL FROM pg_proc
          WHERE pronamespace = $1::text::regnamespace
        ORDER BY 1, 2`,
      [schema],
    );
    const meta = await client.query(`SELECT * FROM ${schema}.meta`);
    return { rows, meta: meta.rows };
  } finally {
    await client.end();
  }
}

describe("samekey migrate", () => {
  it("makes a schema that a server works with, and changes nothing the second time", async () => {
    const url = await emptyDatabase("migrated");
    const args = ["migrate", "--retention", "24h", "--database-url", url];
    expect(await samekey(args, offline)).toMatchObject({ code: 0, stderr: "" });
    const before = await catalog(url, "samekey");
    expect(await samekey(args, offline)).toMatchObject({ code: 0 });
    expect(await catalog(url, "samekey")).toEqual(before);
    expect((await samekey([...args, "--print"], offline)).stdout).toBe("-- nothing is missing\n");

    const pool = makePool(url, 1);
    const outcome = await createIdempotency({ db: pool, retention: "24h" }).run(request(v7()), () => ({ status: 204 }));
    expect(outcome.kind).toBe("executed");
    await pool.end();
  });

  describe("prints what makes the same schema", () => {
    const name = "odd 'name\\; :x";
    const args = ["migrate", "--retention", "30d", "--schema", name];
    let script: string;
    let wanted: unknown;
    beforeAll(async () => {
      const url = await emptyDatabase("made");
      await samekey([...args, "--database-url", url]);
      wanted = await catalog(url, `"${name}"`);
      script = (await samekey([...args, "--print"], offline)).stdout;
    });

    it("through a driver", async () => {
      const url = await emptyDatabase("driven");
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(script);
      await client.end();
      expect(await catalog(url, `"${name}"`)).toEqual(wanted);
    });

    it.skipIf(!hasPsql())("through psql", async () => {
      const url = await emptyDatabase("applied");
      const psql = spawn("psql", [url, "-v", "ON_ERROR_STOP=1", "-q", "-o", "/dev/null"]);
      const said = text(psql.stderr);
      psql.stdin.end(script);
      const [code] = await once(psql, "close");
      expect({ code, said: await said }).toEqual({ code: 0, said: "" });
      expect(await catalog(url, `"${name}"`)).toEqual(wanted);
    });
  });

  it("prints only what the named database lacks", async () => {
    const url = await emptyDatabase("lacking");
    const args = ["migrate", "--retention", "24h", "--database-url", url];
    await samekey(args);
    const { stdout } = await samekey([...args.with(2, "7d"), "--print"]);
    expect(stdout).toContain("window_ms");
    expect(stdout).not.toContain("CREATE TABLE");
    await samekey(args.with(2, "7d"));
    expect((await samekey([...args.with(2, "7d"), "--print"])).stdout).toBe("-- nothing is missing\n");
  });

  it("refuses a schema that is newer", async () => {
    const url = await emptyDatabase("newer");
    await samekey(["migrate", "--retention", "24h", "--database-url", url]);
    const pool = makePool(url, 1);
    await pool.query("UPDATE samekey.meta SET version = 99");
    await pool.end();
    for (const args of [
      ["migrate", "--retention", "24h"],
      ["retention", "--once"],
    ]) {
      const { code, stderr } = await samekey([...args, "--database-url", url]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^samekey: The store was written by a newer version.*99.*\n$/);
    }
  });
});

describe("samekey retention", () => {
  it("runs once and tells what it did", async () => {
    const first = await samekey(["retention", "--once", "--json"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(first.stdout)).toEqual({ made: [], dropped: [], waiting: [], expired: 0, forgotten: 0 });
    const second = await samekey(["retention", "--once"]);
    expect(second.stdout).toBe("partitions: 0 made, 0 dropped, 0 waiting, opaque keys: 0 expired, 0 forgotten\n");
  });

  it("stays and runs again until a signal ends it", async () => {
    const child = spawn(process.execPath, [bin, "retention", "--every", "1s"], {
      env: environment({ DATABASE_URL: fixture.url }),
    });
    const exit = once(child, "exit");
    let runs = 0;
    for await (const line of createInterface(child.stdout)) {
      expect(line).toContain("partitions:");
      runs += 1;
      if (runs === 2) child.kill("SIGTERM");
    }
    expect(await exit).toEqual([0, null]);
  });

  it("says that there is no schema, and how to make one", async () => {
    const { code, stderr } = await samekey(["retention", "--once", "--schema", "nowhere"]);
    expect(code).toBe(1);
    expect(stderr).toContain("samekey migrate");
  });
});

describe("the command line", () => {
  it.each<[string, string[]]>([
    ["no verb", []],
    ["an unknown verb", ["nonsense"]],
    ["an unknown option", ["migrate", "--retention", "24h", "--nonsense"]],
    ["no retention", ["migrate"]],
    ["a retention that is none", ["migrate", "--retention", "soon"]],
    ["a schema that is none", ["migrate", "--retention", "24h", "--schema", ""]],
    ["neither --once nor --every", ["retention"]],
    ["both --once and --every", ["retention", "--once", "--every", "1h"]],
    ["an interval that is none", ["retention", "--every", "1ms"]],
    ["a URL that is none", ["migrate", "--retention", "24h", "--database-url", "postgres://u:p@h:port/d"]],
  ])("is not understood with %s: 2, on stderr", async (_, args) => {
    const { code, stdout, stderr } = await samekey(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
  });

  it.each([["--help"], ["migrate", "--help"], ["help", "retention"], ["--version"]])(
    "answers %s %s with 0",
    async (...args) => {
      const { code, stdout, stderr } = await samekey(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).not.toBe("");
    },
  );

  it("says in one line that it failed, and never the password", async () => {
    const url = "postgres://someone:hunter2@127.0.0.1:1/d";
    const args = ["migrate", "--retention", "24h"];
    const short = await samekey([...args, "--database-url", url]);
    expect(short.code).toBe(1);
    expect(short.stderr).toMatch(/^samekey: [^\n]*ECONNREFUSED[^\n]*\n$/);
    const long = await samekey([...args, "--verbose"], { DATABASE_URL: url });
    expect(long.stderr).toMatch(/\n {4}at /);
    for (const { stdout, stderr } of [short, long]) expect(stdout + stderr).not.toContain("hunter2");
  });

  it("says where to put the password that the database wants, and ends", async () => {
    // Asks for one by SCRAM, as servers do; pg is at its end then, and leaves the connection open.
    const message = (code: number, text: string): Buffer => {
      const head = Buffer.from("R\0\0\0\0\0\0\0\0", "latin1");
      head.writeInt32BE(8 + text.length, 1);
      head.writeInt32BE(code, 5);
      return Buffer.concat([head, Buffer.from(text, "latin1")]);
    };
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.write(message(10, "SCRAM-SHA-256\0\0"));
        socket.once("data", () => socket.write(message(11, "r=nonce,s=c2FsdA==,i=4096")));
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `postgres://someone@127.0.0.1:${(server.address() as AddressInfo).port}/d`;
    const env = { DATABASE_URL: url, PGPASSFILE: join(root, "none") };
    const { code, stderr } = await samekey(["retention", "--once"], env);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^samekey: [^\n]*PGPASSWORD[^\n]*\n$/) });
    server.close();
  });

  it("takes psql's environment where no URL is given", async () => {
    const { hostname, port, username, pathname } = new URL(fixture.url);
    const env = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1), DATABASE_URL: "" };
    expect(await samekey(["retention", "--once"], env)).toMatchObject({ code: 0, stderr: "" });
  });
});
