import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as drizzleOrm from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import * as express from "express";
import * as fastify from "fastify";
import * as hono from "hono";
import * as kyselyModule from "kysely";
import pg from "pg";
import * as postgres from "postgres";
import * as promClient from "prom-client";
import { createSdk, post } from "samekey";
import * as server from "samekey/server";
import * as expressAdapter from "samekey/server/express";
import * as fastifyAdapter from "samekey/server/fastify";
import * as metrics from "samekey/server/metrics";
import { postgresStore } from "samekey/stores/postgres";
import { v7 } from "uuid";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { runSnippet, snippetsOf } from "../../support/snippets.js";
import { type Fixture, request, startFixture } from "./fixture.js";

const snippets = snippetsOf("docs/server.md");
const untried = new Set(snippets.keys());
const endings: (() => unknown)[] = [];
let fixture: Fixture;

class Pool extends pg.Pool {
  constructor(options: pg.PoolConfig) {
    super(options);
    this.on("error", () => {});
    endings.push(() => this.end());
  }
}

const modules = {
  "drizzle-orm": drizzleOrm,
  express,
  fastify,
  hono,
  kysely: kyselyModule,
  pg: { Pool },
  postgres: {
    default: (url: string) => {
      const sql = postgres.default(url, { onnotice: () => {} });
      endings.push(() => sql.end());
      return sql;
    },
  },
  "prom-client": promClient,
  "samekey/server": server,
  "samekey/server/express": expressAdapter,
  "samekey/server/fastify": fastifyAdapter,
  "samekey/server/metrics": metrics,
};

beforeAll(async () => {
  fixture = await startFixture();
  await fixture.pool.query(
    "CREATE TABLE transfers (src int, dst int, amount int); CREATE TABLE refunds (id text, amount int)",
  );
}, 60_000);
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  await fixture.pool.query("TRUNCATE transfers, refunds");
});
afterAll(async () => {
  await fixture?.stop();
  expect([...untried], "every program of the page was run").toEqual([]);
});

// biome-ignore lint/suspicious/noExplicitAny: what a program declares has the types that it gives it.
async function run(name: string, scope: Record<string, unknown> = {}): Promise<any> {
  untried.delete(name);
  const code = snippets.get(name) ?? "";
  const engine = code.includes("const idempotency") ? {} : { idempotency: fixture.engine };
  return runSnippet(code, modules, { url: fixture.url, ...engine, ...scope });
}

const count = async (table: string): Promise<number> =>
  (await fixture.pool.query(`SELECT count(*)::int AS n FROM ${table}`)).rows[0].n;

const transfer = { src: 8842, dst: 1190, amount: 2500 };

/** Sends one transfer twice, as `send` does it, and expects one effect and its replay. */
async function expectOnce(
  send: (headers: Record<string, string>, body: string) => Promise<{ status: number; mark: unknown }>,
  table = "transfers",
): Promise<void> {
  const headers = { "idempotency-key": v7(), "content-type": "application/json", authorization: "acct_1" };
  const first = await send(headers, JSON.stringify(transfer));
  const second = await send(headers, JSON.stringify(transfer));
  expect([first, second]).toEqual([
    { status: 201, mark: "executed" },
    { status: 201, mark: "replayed" },
  ]);
  expect(await count(table)).toBe(1);
}

const seen = ({ status, headers }: Response) => ({ status, mark: headers.get("idempotency-status") });

const inject =
  (app: fastify.FastifyInstance) =>
  async (headers: Record<string, string>, body: string): Promise<{ status: number; mark: unknown }> => {
    const answer = await app.inject({ method: "POST", url: "/transfers", headers, payload: body });
    return { status: answer.statusCode, mark: answer.headers["idempotency-status"] };
  };

test("the first program does a transfer once", async () => {
  const { app, stop } = await run("start", {
    accountOf: ({ headers }: fastify.FastifyRequest) => headers.authorization,
    schema: { body: { type: "object", required: ["src", "dst", "amount"] } },
  });
  endings.push(stop, () => app.close());
  await expectOnce(inject(app));
});

test("the contract is served to everybody", async () => {
  const [onFastify, onExpress] = [fastify.default(), express.default()];
  endings.push(() => onFastify.close());
  const { GET } = await run("contract", { fastify: onFastify, express: onExpress });
  const listening = onExpress.listen(0, "127.0.0.1");
  endings.push(() => listening.close());
  await vi.waitFor(() => expect(listening.listening).toBe(true));
  const { port } = listening.address() as { port: number };
  const bodies = [
    (await onFastify.inject(server.contractPath)).json(),
    await (await fetch(`http://127.0.0.1:${port}${server.contractPath}`)).json(),
    await GET().json(),
  ];
  for (const body of bodies) expect(body).toMatchObject({ retention: 86_400 });
});

/** Runs under one key twice; what the first does is its own. */
async function expectEngineOnce<T>(engine: server.Idempotency<T>, work: (tx: T) => Promise<unknown>): Promise<void> {
  const claim = request(v7());
  const handler = async ({ tx }: server.Execution<T>) => {
    await work(tx);
    return { status: 201 };
  };
  const kinds = [(await engine.run(claim, handler)).kind, (await engine.run(claim, handler)).kind];
  expect(kinds).toEqual(["executed", "replayed"]);
  expect(await count("transfers")).toBe(1);
}

test("the engine works on pg and on postgres", async () => {
  const { withPg, withPostgres } = await run("drivers");
  await expectEngineOnce<pg.PoolClient>(withPg, (tx) => tx.query("INSERT INTO transfers VALUES (1, 2, 3)"));
  await fixture.pool.query("TRUNCATE transfers");
  await expectEngineOnce<postgres.ReservedSql>(withPostgres, (tx) => tx`INSERT INTO transfers VALUES (1, 2, 3)`);
});

test("the engine works on Kysely", async () => {
  const pool = new Pool({ connectionString: fixture.url });
  const kysely = new kyselyModule.Kysely<{ transfers: { src: number; dst: number; amount: number } }>({
    dialect: new kyselyModule.PostgresDialect({ pool }),
  });
  const { idempotency } = await run("kysely", { kysely });
  await expectEngineOnce<kyselyModule.Transaction<{ transfers: typeof transfer }>>(idempotency, (tx) =>
    tx.insertInto("transfers").values(transfer).execute(),
  );
});

test("the engine works on Drizzle", async () => {
  const db = drizzle(new Pool({ connectionString: fixture.url }));
  const { idempotency } = await run("drizzle", { db });
  await expectEngineOnce<Parameters<Parameters<typeof db.transaction>[0]>[0]>(idempotency, (tx) =>
    tx.execute(drizzleOrm.sql`INSERT INTO transfers VALUES (1, 2, 3)`),
  );
});

/** An engine whose tenant is what stands in `Authorization`. */
const engineFor = <R>(authorizationOf: (from: R) => string | null | undefined) =>
  server.createIdempotency({ db: fixture.pool, retention: "24h", tenant: authorizationOf });

test("a route of Express does a transfer once", async () => {
  const { app } = await run("express", {
    idempotency: engineFor(({ headers }: express.Request) => headers.authorization),
    authenticate: (_request: unknown, _response: unknown, next: () => void) => next(),
  });
  const listening = app.listen(0, "127.0.0.1");
  endings.push(() => listening.close());
  await vi.waitFor(() => expect(listening.listening).toBe(true));
  const url = `http://127.0.0.1:${listening.address().port}/transfers`;
  await expectOnce(async (headers, body) => seen(await fetch(url, { method: "POST", headers, body })));
});

test("a route of Hono does a transfer once", async () => {
  const { app } = await run("hono", {
    authenticate: async (c: hono.Context, next: () => Promise<void>) => {
      c.set("account" as never, c.req.header("authorization") as never);
      await next();
    },
  });
  await expectOnce(async (headers, body) => seen(await app.request("/transfers", { method: "POST", headers, body })));
});

test("a route handler of Next.js gives a refund once", async () => {
  const idempotency = engineFor(({ headers }: Request) => headers.get("authorization"));
  const { POST } = await run("next", { idempotency });
  const url = "https://shop.example.com/payments/7/refunds";
  const params = Promise.resolve({ id: "7" });
  await expectOnce(
    async (headers, body) => seen(await POST(new Request(url, { method: "POST", headers, body }), { params })),
    "refunds",
  );
});

test("run does a transfer once", async () => {
  const scope = { key: v7(), body: "{}" };
  expect((await run("run", scope)).outcome).toMatchObject({ kind: "executed", status: 201 });
  expect((await run("run", scope)).outcome).toMatchObject({ kind: "replayed", status: 201 });
  expect(await count("transfers")).toBe(1);
});

test("what CORS is told has the key and the marks", async () => {
  const cors = vi.fn();
  await run("cors", { cors, origin: "https://shop.example.com", app: { use: () => {} } });
  expect(cors.mock.lastCall?.[0]).toMatchObject({
    allowedHeaders: expect.arrayContaining(["idempotency-key", "authorization"]),
    exposedHeaders: expect.arrayContaining(["idempotency-status", "retry-after"]),
  });
});

test("the retention job starts and stops", async () => {
  const error = vi.fn();
  const { stop } = await run("retention", { log: { error } });
  await stop();
  expect(error).not.toHaveBeenCalled();
});

test("the grants of the page are enough for a server", async () => {
  const [, grants = ""] = /```sql\n([^`]*)```/.exec(await readFile(join(root, "docs/server.md"), "utf8")) ?? [];
  await fixture.pool.query(`CREATE ROLE app; ${grants}`);
  const db = new Pool({ connectionString: fixture.url, options: "-c role=app" });
  const engine = server.createIdempotency({ db, retention: "24h" });
  await engine.migrate();
  const outcome = await engine.run(request(v7()), async ({ tx }) => {
    const { rows } = await tx.query("SELECT current_user AS name");
    return { status: 200, body: rows[0].name };
  });
  expect(outcome).toMatchObject({ kind: "executed", status: 200 });
  expect(new TextDecoder().decode(outcome.body ?? undefined)).toBe("app");
  await expect(db.query("DELETE FROM samekey.keys")).rejects.toMatchObject({ code: "42501" });
});

test("a request goes to the engine of its shard", async () => {
  const engine = engineFor(({ headers }: fastify.FastifyRequest) => headers.authorization);
  const shardOf = vi.fn(() => 0);
  const { once } = await run("shards", { engines: [engine], shardOf });
  const app = fastify.default();
  endings.push(() => app.close());
  app.post("/transfers", once.route("transfers"), async (incoming, reply) => {
    await once.execution(incoming).tx.query("INSERT INTO transfers VALUES (1, 2, 3)");
    return reply.code(201).send({});
  });
  await expectOnce(inject(app));
  expect(shardOf).toHaveBeenCalledWith(8842);
});

test("a credit is recorded in the debit's transaction", async () => {
  const relay = createSdk({
    name: "relay",
    owner: "single",
    baseUrl: "http://127.0.0.1:9",
    retention: "24h",
    store: postgresStore({ pool: fixture.pool, schema: "relay" }),
    operations: { credit: post("/credits") },
  });
  endings.push(() => relay.close());
  await relay.counts();
  const tx = await fixture.pool.connect();
  await tx.query("BEGIN");
  await run("credit", { relay, tx, transfer: "t-1", dst: 1190, amount: 2500, key: "k-1" });
  await tx.query("COMMIT");
  tx.release();
  expect(await relay.find({ name: "credit", intent: "t-1" })).toMatchObject({ state: "pending", key: "credit:t-1" });
});

test("metrics are scraped", async () => {
  const app = fastify.default();
  endings.push(
    () => app.close(),
    () => promClient.register.clear(),
  );
  const { idempotency } = await run("metrics", { db: fixture.pool, app });
  await idempotency.run(request(v7()), async () => ({ status: 204 }));
  expect((await app.inject("/metrics")).body).toMatch(/samekey_requests_total\{.*outcome="executed".*\} 1/);
});
