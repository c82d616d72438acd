import { setTimeout as sleep } from "node:timers/promises";
import { drizzle } from "drizzle-orm/node-postgres";
import express from "express";
import Fastify from "fastify";
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import type pg from "pg";
import { v7 } from "uuid";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { expressIdempotency } from "../../../src/server/adapters/express.js";
import { fastifyIdempotency } from "../../../src/server/adapters/fastify.js";
import { createIdempotency, type Idempotency, type TransactionRunner } from "../../../src/server/index.js";
import { heard, template } from "./drivers.js";
import { type Fixture, makePool, startFixture } from "./fixture.js";

let fixture: Fixture;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
}, 5_000);

afterAll(() => fixture.stop());

// biome-ignore lint/suspicious/noExplicitAny: each ORM's own
type Tx = any;
type Route = (tx: Tx, key: string) => Promise<void>;

const orms: readonly (readonly [string, (pool: pg.Pool) => TransactionRunner<Tx>])[] = [
  [
    "Kysely",
    (pool) => {
      const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
      return {
        transaction: (work) => kysely.transaction().execute(work),
        query: (tx: Transaction<unknown>, text, values) => tx.executeQuery(CompiledQuery.raw(text, values)),
      };
    },
  ],
  [
    "Drizzle",
    (pool) => {
      const db = drizzle(pool);
      return {
        transaction: (work) => db.transaction(work),
        query: (tx, text, values) => tx.execute(template(text, values)),
      };
    },
  ],
];

const frameworks: readonly (readonly [string, (engine: Idempotency<Tx>, route: Route) => Promise<string>])[] = [
  [
    "Express",
    async (engine, route) => {
      const app = express();
      const once = expressIdempotency(engine);
      app.post("/effects", once.route("effects"), async (request, response) => {
        const { tx, key } = once.execution(request);
        await route(tx, key);
        response.status(201).json({});
      });
      const server = app.listen(0, "127.0.0.1");
      closing.push(() => server.close());
      await new Promise((resolve) => server.once("listening", resolve));
      return `http://127.0.0.1:${(server.address() as { port: number }).port}/effects`;
    },
  ],
  [
    "Fastify",
    async (engine, route) => {
      const app = Fastify({ forceCloseConnections: true });
      const once = fastifyIdempotency(engine);
      app.post("/effects", once.route("effects"), async (request, reply) => {
        const { tx, key } = once.execution(request);
        await route(tx, key);
        return reply.code(201).send({});
      });
      closing.push(() => app.close());
      return `${await app.listen({ port: 0, host: "127.0.0.1" })}/effects`;
    },
  ],
];

const post = (url: string, key: string): Promise<Response> =>
  fetch(url, { method: "POST", headers: { "idempotency-key": key, connection: "close" } });

// What an ORM holds is not samekey's to close; neither is it to be left behind, nor pulled away under a route.
describe.each(orms)("a late route on a transaction of %s's", (_, runnerOf) => {
  const open = (pool: pg.Pool): { db: TransactionRunner<Tx>; engine: Idempotency<Tx> } => {
    const db = runnerOf(heard(pool));
    closing.push(() => pool.end());
    const options = { db, retention: "24h", handlerTimeout: 200, tenant: () => "acct_1" } as const;
    return { db, engine: createIdempotency(options) };
  };

  it.each(frameworks)("on %s that never ends gives its connection back all the same", async (_, serve) => {
    const { engine } = open(makePool(fixture.url, 1));
    let late = true;
    const url = await serve(engine, () => (late ? new Promise(() => {}) : Promise.resolve()));
    expect((await post(url, v7())).status).toBe(503);
    late = false;
    await vi.waitFor(async () => expect((await post(url, v7())).status).toBe(201), { timeout: 5_000 });
  });

  it.each(frameworks)("on %s that goes on has nothing of it stay", async (_, serve) => {
    const { db, engine } = open(makePool(fixture.url, 1));
    let ended: Promise<void> | undefined;
    const write: Route = async (tx, key) => {
      for (let count = 0; count < 30; count += 1) {
        await db.query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]);
        await sleep(20);
      }
    };
    const url = await serve(engine, (tx, key) => {
      ended = write(tx, key);
      return ended;
    });
    const key = v7();
    expect((await post(url, key)).status).toBe(503);
    await ended?.catch(() => {});
    expect(await fixture.effects(key)).toBe(0);
  });
});
