import { connect, type Socket } from "node:net";
import { inspect } from "node:util";
import type pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { exchange, type RawRequest, send } from "../../support/raw-http.js";
import { type Fixture, makePool, startFixture } from "./fixture.js";
import { type Act, type Host, type HostOptions, hosts } from "./http-hosts.js";

let fixture: Fixture;
const open: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(async () => {
  await Promise.all(open.map((close) => close()));
  await fixture.stop();
});

const usual: Act = async ({ tx, key }) => {
  await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
  return { status: 201, headers: [["content-type", "text/plain"]], body: "done" };
};

async function start(host: Host, options: Partial<HostOptions> = {}): Promise<string> {
  const server = await host.start({
    db: fixture.pool,
    act: usual,
    handlerTimeout: 5_000,
    bodyLimit: 1_000,
    ...options,
  });
  open.push(server.close);
  return server.url;
}

const post = async (url: string, key: string, request: RawRequest & { path?: string } = {}) => {
  const { path = "/act", headers, ...rest } = request;
  const answer = await send(`${url}${path}`, {
    body: "{}",
    ...rest,
    headers: { authorization: "Bearer acct_1", "content-type": "text/plain", "idempotency-key": key, ...headers },
  });
  return { ...answer, mark: answer.headers["idempotency-status"]?.[0], text: answer.body.toString() };
};

const injections = [
  "');DROP/**/TABLE/**/effects;--",
  "'||(SELECT/**/version())||'",
  "$1",
  "\\'",
  "%s%n",
  "{{7*7}}",
  "__proto__",
  "constructor",
  "toString",
];

describe.each(hosts)("$name", (host) => {
  it("takes SQL in keys, paths, accounts and bodies for text", async () => {
    const url = await start(host, { tenant: (authorization) => authorization });
    for (const injection of injections) {
      const text = injection + v7();
      const quoted = `"${text.replace(/["\\]/g, "\\$&")}"`;
      const request = {
        path: `/act?q=${encodeURIComponent(text)}&raw=${text.replace(/[\\{}%]/g, "")}`,
        headers: { authorization: text, "content-type": "text/plain" },
        body: text,
      };
      expect((await post(url, text, request)).mark, text).toBe("executed");
      expect((await post(url, quoted, request)).mark, text).toBe("replayed");
      expect(await fixture.effects(text)).toBe(1);
    }
    expect(Object.keys({})).toEqual([]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it.each<[string, (authorization: unknown) => unknown]>([
    ["throws", () => JSON.parse("{")],
    ["rejects", () => Promise.reject(new Error("the user store is away"))],
    ["gives an object", () => ({ id: "acct_1" })],
    ["gives a promise of an object", async () => ({ id: "acct_1" })],
    ["gives a number", () => 42],
    ["gives true", () => true],
    ["gives a list", () => ["acct_1"]],
    ["gives blanks", () => "  "],
    ["gives a NUL", () => "acct\0_1"],
    ["gives half a surrogate pair", () => "acct_\ud800"],
    ["gives no end of text", () => "a".repeat(100_000)],
  ])("runs nothing where `tenant` %s", async (_, tenant) => {
    const act = vi.fn(usual);
    const url = await start(host, { tenant, act });
    const answer = await post(url, v7());
    expect([answer.status, answer.mark]).toEqual([500, undefined]);
    expect(act).not.toHaveBeenCalled();
  });

  it.each([undefined, null, "", false, 0])("knows nobody where `tenant` gives %j", async (nobody) => {
    const url = await start(host, { tenant: () => nobody });
    expect((await post(url, v7())).status).toBe(401);
  });

  it("holds no connection while a body trickles in", async () => {
    const pool = makePool(fixture.url, 1);
    open.push(() => pool.end());
    const url = await start(host, { db: pool });
    const slow = await Promise.all(Array.from({ length: 20 }, () => half(url)));
    expect((await post(url, v7())).mark).toBe("executed");
    expect(pool.totalCount).toBe(1);
    for (const socket of slow) socket.destroy();
  });

  it("lives on when clients vanish in the middle of a body", async () => {
    const url = await start(host);
    const sockets = await Promise.all(Array.from({ length: 5 }, () => half(url)));
    for (const socket of sockets) socket.resetAndDestroy();
    expect((await post(url, v7())).mark).toBe("executed");
  });

  it("refuses keys and headers of any size without a word to the database", async () => {
    let asked = 0;
    const db = {
      connect(): Promise<pg.PoolClient> {
        asked += 1;
        return fixture.pool.connect();
      },
    };
    const url = await start(host, { db });
    expect((await post(url, "k".repeat(8_000))).status).toBe(400);
    expect((await post(url, "k".repeat(100_000))).status).toBe(431);
    expect((await post(url, v7(), { headers: { "x-large": "a".repeat(100_000) } })).status).toBe(431);
    expect((await post(url, v7(), { body: "a".repeat(1_001) })).status).toBe(413);
    expect((await post(url, v7(), { body: ["a".repeat(600), "a".repeat(600)] })).status).toBe(413);
    expect(asked).toBe(0);
  });

  it.each([
    ["in the key", "Idempotency-Key: a\rX-Evil: 1"],
    ["in the key, NUL", "Idempotency-Key: a\0"],
    ["in a name", "Idempotency-Key : a"],
    ["that is folded", "Idempotency-Key: a\r\n b"],
  ])("lets nobody smuggle a header %s", async (_, line) => {
    const url = await start(host);
    const head = `POST /act HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer acct_1\r\n${line}`;
    const answer = await exchange(url, `${head}\r\nContent-Length: 2\r\n\r\n{}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.toLowerCase()).not.toMatch(/x-evil|idempotency-status/);
  });

  it("lets no handler put a line break into a header, and stores nothing of it", async () => {
    const url = await start(host, {
      act: async (execution) => ({
        ...(await usual(execution, Buffer.alloc(0))),
        headers: [["location", "/a\r\nset-cookie: evil=1"]],
      }),
    });
    const key = v7();
    const answer = await post(url, key);
    expect([answer.status, answer.mark, answer.headers["set-cookie"]]).toEqual([500, undefined, undefined]);
    expect(await fixture.effects(key)).toBe(0);
  });

  it("answers for what somebody wrote into the table, and lets it inject nothing", async () => {
    const url = await start(host);
    for (const headers of [
      '[["location","/a\\r\\nset-cookie: evil=1"]]',
      '[["x evil","1"]]',
      '[["__proto__","1"],["constructor","1"],["content-type","text/plain"]]',
      `[["link","${"a".repeat(10_000)}"]]`,
    ]) {
      const key = v7();
      await post(url, key);
      await fixture.pool.query("UPDATE samekey.keys SET headers = $2 WHERE key = $1", [
        `7${key.replaceAll("-", "")}`,
        headers,
      ]);
      const answer = await post(url, key);
      expect([200, 201, 500]).toContain(answer.status);
      expect(answer.headers["set-cookie"]).toBeUndefined();
      expect(await fixture.effects(key)).toBe(1);
    }
    expect((await post(url, v7())).mark).toBe("executed");
  });

  it("takes no part of a request for another's, however it is cut", async () => {
    const url = await start(host, { tenant: (authorization) => authorization });
    const told = new Set<string>();
    const own = v7();
    // Tenant and key run together would be the same text.
    for (const [account, key] of [
      ["ab", "c"],
      ["a", "bc"],
      ["a\u00e9", "c"],
    ] as const) {
      told.add(`${(await post(url, key, { headers: { authorization: own + account } })).mark}`);
    }
    expect([...told]).toEqual(["executed"]);
  });

  it("logs neither keys, bodies, accounts and credentials, nor what a statement was given", async () => {
    const lines: string[] = [];
    const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
    const spies = methods.map((method) =>
      vi
        .spyOn(console, method)
        .mockImplementation((...values) => void lines.push(values.map((it) => inspect(it)).join())),
    );
    let broken: "throw" | "statement" | "commit" | undefined;
    const url = await start(host, {
      log: (line) => void lines.push(line),
      tenant: (authorization) => (authorization === "Bearer s3cret-token" ? "s3cret-account" : undefined),
      act: async ({ tx }, body) => {
        await tx.query("INSERT INTO effects (key) VALUES ($1)", ["s3cret-parameter"]);
        if (broken === "throw") throw new Error("the handler's own words");
        if (broken === "statement") await tx.query("SELECT 1 / $1::int", [0]).catch(() => {});
        if (broken === "commit") await tx.query("INSERT INTO once VALUES ('s3cret-row')");
        return { status: 201, body: `s3cret-answer ${body}` };
      },
    });
    await fixture.pool.query(
      "CREATE TABLE IF NOT EXISTS once (name text UNIQUE DEFERRABLE INITIALLY DEFERRED); DELETE FROM once; INSERT INTO once VALUES ('s3cret-row')",
    );
    try {
      const headers = { authorization: "Bearer s3cret-token", cookie: "s3cret-cookie=1" };
      const ask = (key: string, body: string, more = {}) => post(url, key, { headers: { ...headers, ...more }, body });
      const seen = [
        await ask("s3cret-key", "s3cret-body"),
        await ask("s3cret-key", "s3cret-body"),
        await ask("s3cret-key", "s3cret-other"),
        await ask("s3cret key", "s3cret-body"),
        await ask("s3cret-key", "s3cret-body", { authorization: "s3cret-wrong" }),
        await ask("s3cret-key-2", "s3cret".repeat(1_000)),
      ].map(({ status }) => status);
      expect(seen).toEqual([201, 201, 422, 400, 401, 413]);
      for (broken of ["throw", "statement", "commit"] as const) {
        expect((await ask(`s3cret-${broken}`, "s3cret-body")).status).toBe(500);
      }
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
    if (host.name === "Fastify") expect(lines.join("\n")).toContain("the answer could not be stored");
    if (host.name === "Express") expect(lines.join("\n")).toContain("the handler's own words");
    // The route's path is the framework's to log; what is in it is not secret here.
    for (const line of lines) expect(line).not.toContain("s3cret");
  });
});

it("quotes whatever name its schema has", async () => {
  const { createIdempotency } = await import("../../../src/server/index.js");
  const schema = `a"; DROP TABLE effects; --'\\$$`;
  const engine = createIdempotency({ db: fixture.pool, retention: "1h", schema });
  await engine.migrate();
  const request = { tenant: "a", scope: "'; DROP TABLE effects; --", key: v7(), fingerprint: new Uint8Array(32) };
  expect((await engine.run(request, () => ({ status: 204 }))).kind).toBe("executed");
  expect((await engine.run(request, () => ({ status: 204 }))).kind).toBe("replayed");
  expect(await fixture.effects("none")).toBe(0);
});

/** A request whose body stops half-way. Resolves once the server has its head. */
async function half(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  const lines = [
    "POST /act HTTP/1.1",
    "Host: x",
    "Expect: 100-continue",
    "Authorization: Bearer acct_1",
    `Idempotency-Key: ${v7()}`,
    "Content-Length: 10",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  socket.write("half");
  return socket;
}
