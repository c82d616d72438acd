import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fastifyIdempotency } from "../../../src/server/adapters/fastify.js";
import { createIdempotency, type IdempotencyOptions } from "../../../src/server/index.js";
import { type Fixture, gate, startFixture } from "./fixture.js";

let fixture: Fixture;
const apps: FastifyInstance[] = [];

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()));
  await fixture.stop();
});

/** An app with some routes under one scope; resolves to its URL. */
async function serve(
  define: (app: FastifyInstance, idempotent: ReturnType<typeof hooks>) => void,
  options: Partial<IdempotencyOptions> = {},
): Promise<string> {
  const app = Fastify();
  apps.push(app);
  define(app, hooks(options));
  return app.listen({ port: 0, host: "127.0.0.1" });
}

function hooks({ handlerTimeout }: Partial<IdempotencyOptions>) {
  const tenant = ({ headers }: FastifyRequest) => (headers.authorization === "none" ? undefined : "acct_1");
  return fastifyIdempotency(createIdempotency({ db: fixture.pool, retention: "24h", tenant, handlerTimeout }));
}

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function send(
  url: string,
  key: string | undefined,
  body: string | undefined = '{"n":1}',
  init: RequestInit = {},
): Promise<Sent> {
  const headers = new Headers({ "content-type": "application/json", ...(init.headers as Record<string, string>) });
  if (key !== undefined) headers.set("idempotency-key", key);
  const response = await fetch(url, { method: "POST", body, ...init, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const mark = ({ headers }: Sent) => headers.get("idempotency-status");

/** Counts its effects in the database, and answers with the body it was given. */
const echo = (app: FastifyInstance, idempotent: ReturnType<typeof hooks>, path = "/effects", method = "POST") =>
  app.route({
    method,
    url: path,
    ...idempotent.route("effects"),
    handler: async (request, reply) => {
      const { tx, key } = idempotent.execution(request);
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      return reply.code(201).send({ got: request.body });
    },
  });

describe("a Fastify route", () => {
  it("answers a key once and replays it byte for byte", async () => {
    const url = await serve((app, idempotent) => echo(app, idempotent));
    const key = v7();
    const first = await send(`${url}/effects`, key);
    const again = await send(`${url}/effects`, key);
    expect(first).toMatchObject({ status: 201, text: '{"got":{"n":1}}' });
    expect(mark(first)).toBe("executed");
    expect(first.headers.has("idempotency-replayed")).toBe(false);
    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(mark(again)).toBe("replayed");
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(again.headers.get("content-length")).toBe(first.headers.get("content-length"));
    expect(await fixture.effects(key)).toBe(1);
  });

  // F21
  it("takes a key for one method, path, query, content type and body only", async () => {
    const url = await serve((app, idempotent) => {
      echo(app, idempotent);
      echo(app, idempotent, "/effects", "PUT");
      echo(app, idempotent, "/other");
      app.addContentTypeParser("application/vnd.x+json", { parseAs: "string" }, (_request, body, done) =>
        done(null, body),
      );
    });
    const key = v7();
    expect((await send(`${url}/effects?a=1`, key)).status).toBe(201);
    const others = [
      send(`${url}/effects?a=1`, key, undefined, { method: "PUT" }),
      send(`${url}/other?a=1`, key),
      send(`${url}/effects?a=2`, key),
      send(`${url}/effects?a=1`, key, undefined, { headers: { "content-type": "application/vnd.x+json" } }),
      send(`${url}/effects?a=1`, key, '{"n":1 }'),
    ];
    for (const other of await Promise.all(others)) {
      expect(other.status).toBe(422);
      expect(JSON.parse(other.text).error).toBe("idempotency_key_reused_with_different_body");
      expect(other.headers.get("content-type")).toBe("application/problem+json");
      expect(mark(other)).toBeNull();
    }
    expect(await fixture.effects(key)).toBe(1);
  });

  // F19 F20
  it("compares the bytes that came, not what a parser made of them", async () => {
    const url = await serve((app, idempotent) => echo(app, idempotent));
    const key = v7();
    expect((await send(`${url}/effects`, key, "9007199254740993")).status).toBe(201);
    expect((await send(`${url}/effects`, key, "9007199254740992")).status).toBe(422);
    expect((await send(`${url}/effects`, key, "9007199254740993")).status).toBe(201);
  });

  it("refuses no key, a bad key and two of them", async () => {
    const url = await serve((app, idempotent) => echo(app, idempotent));
    const missing = await send(`${url}/effects`, undefined);
    expect([missing.status, JSON.parse(missing.text).error]).toEqual([400, "idempotency_key_missing"]);
    const bad = await send(`${url}/effects`, "a b");
    expect([bad.status, JSON.parse(bad.text).error, mark(bad)]).toEqual([400, "idempotency_key_invalid", null]);

    const raw = httpRequest(`${url}/effects`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": ["same", "same"] },
    });
    raw.end("{}");
    const [twice] = await once(raw, "response");
    twice.resume();
    expect(twice.statusCode).toBe(400);
    expect(await fixture.effects("same")).toBe(0);
  });

  it("claims before validation: a refusal by the framework is a stored answer", async () => {
    const url = await serve((app, idempotent) => {
      app.post(
        "/strict",
        { ...idempotent.route("strict"), schema: { body: { type: "object", required: ["amount"] } } },
        async () => expect.unreachable(),
      );
    });
    const key = v7();
    const first = await send(`${url}/strict`, key);
    const again = await send(`${url}/strict`, key);
    expect([first.status, mark(first)]).toEqual([400, "executed"]);
    expect([again.status, mark(again)]).toEqual([400, "replayed"]);
    expect(again.text).toBe(first.text);
  });

  // F101
  it("authenticates before the claim", async () => {
    const url = await serve((app, idempotent) => {
      app.addHook("onRequest", async (request, reply) => {
        if (request.headers["x-banned"]) return reply.code(403).send({ error: "banned" });
      });
      echo(app, idempotent);
    });
    const key = v7();
    const unknown = await send(`${url}/effects`, key, undefined, { headers: { authorization: "none" } });
    expect([unknown.status, mark(unknown)]).toEqual([401, null]);
    const banned = await send(`${url}/effects`, key, undefined, { headers: { "x-banned": "1" } });
    expect([banned.status, mark(banned), banned.text]).toEqual([403, null, '{"error":"banned"}']);
    expect(mark(await send(`${url}/effects`, key))).toBe("executed");
  });

  it("needs a tenant option", async () => {
    const app = Fastify();
    apps.push(app);
    echo(app, fastifyIdempotency(createIdempotency({ db: fixture.pool, retention: "24h" })));
    const { statusCode } = await app.inject({ method: "POST", url: "/effects", headers: { "idempotency-key": "k" } });
    expect(statusCode).toBe(500);
  });

  // F100
  it("releases what was thrown, and the key runs again", async () => {
    let broken = true;
    const url = await serve((app, idempotent) => {
      app.post("/flaky", idempotent.route("flaky"), async (request) => {
        const { tx, key } = idempotent.execution(request);
        await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        if (broken) throw new Error("bug");
        return { ok: true };
      });
    });
    const key = v7();
    const failed = await send(`${url}/flaky`, key);
    expect([failed.status, mark(failed)]).toEqual([500, null]);
    expect(await fixture.effects(key)).toBe(0);
    broken = false;
    expect(mark(await send(`${url}/flaky`, key))).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });

  it("answers 503 where the route's transaction lost against another one", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), async (request) => {
        const { tx, key } = idempotent.execution(request);
        await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        await tx.query("DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = 'deadlock_detected'; END $$");
      });
    });
    const key = v7();
    const answer = await send(`${url}/x`, key);
    expect([answer.status, JSON.parse(answer.text).error, mark(answer)]).toEqual([503, "contention", null]);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await fixture.effects(key)).toBe(0);
  });

  // F19
  it("knows the whole body even where the parser leaves it to the handler", async () => {
    const url = await serve((app, idempotent) => {
      app.addContentTypeParser("application/octet-stream", (_request, payload, done) => done(null, payload));
      app.post("/x", idempotent.route("x"), async (request, reply) => reply.send(request.body));
    });
    const key = v7();
    const headers = { "content-type": "application/octet-stream" };
    const body = "a".repeat(500_000);
    const first = await send(`${url}/x`, key, body, { headers });
    expect([mark(first), first.text.length]).toEqual(["executed", body.length]);
    expect((await send(`${url}/x`, key, `${body.slice(1)}b`, { headers })).status).toBe(422);
    expect(mark(await send(`${url}/x`, key, body, { headers }))).toBe("replayed");
  });

  it("says so when the answer cannot be stored", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/swallows", idempotent.route("swallows"), async (request) => {
        await idempotent
          .execution(request)
          .tx.query("SELECT 1 / 0")
          .catch(() => {});
        return { ok: true };
      });
    });
    const answer = await send(`${url}/swallows`, v7());
    expect([answer.status, JSON.parse(answer.text).error, mark(answer)]).toEqual([500, "not_stored", null]);
  });

  it("never stores an answer whose effects were undone", async () => {
    const engine = createIdempotency({ db: fixture.pool, retention: "24h", tenant: (_: FastifyRequest) => "acct_1" });
    // An engine that finds it must do the work anew, as after a conflict whose cause is gone.
    const run: typeof engine.run = (claim, handler) =>
      engine.run(claim, async (execution) => {
        await handler(execution);
        return handler(execution);
      });
    const url = await serve((app) => {
      echo(app, fastifyIdempotency(Object.assign(Object.create(engine), { run, tenantOf: () => "acct_1" })));
    });
    const key = v7();
    const answer = await send(`${url}/effects`, key);
    expect([answer.status, JSON.parse(answer.text).error]).toEqual([500, "not_stored"]);
    expect(await fixture.effects(key)).toBe(0);
  });

  // F90
  it("answers 503 at the deadline, whatever the handler is at", async () => {
    const goOn = gate();
    const url = await serve(
      (app, idempotent) => {
        app.post("/slow", idempotent.route("slow"), async (request) => {
          const { tx, key } = idempotent.execution(request);
          await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
          await goOn.passed;
          return { ok: true };
        });
      },
      { handlerTimeout: 100 },
    );
    const key = v7();
    const late = await send(`${url}/slow`, key);
    expect([late.status, JSON.parse(late.text).error, late.headers.get("retry-after")]).toEqual([
      503,
      "handler_timeout",
      "1",
    ]);
    goOn.open();
    await sleep(50);
    expect(await fixture.effects(key)).toBe(0);
  });

  it.each<[string, (app: FastifyInstance, idempotent: ReturnType<typeof hooks>) => void, number, string]>([
    [
      "a buffer",
      (app, idempotent) =>
        app.post("/x", idempotent.route("x"), async (_request, reply) => reply.send(Buffer.from([0, 255, 10]))),
      200,
      "\u0000\ufffd\n",
    ],
    [
      "a stream",
      (app, idempotent) =>
        app.post("/x", idempotent.route("x"), async (_request, reply) => reply.send(Readable.from(["a", "b"]))),
      200,
      "ab",
    ],
    [
      "a Response",
      (app, idempotent) =>
        app.post(
          "/x",
          idempotent.route("x"),
          async () => new Response("made", { status: 202, headers: { location: "/x/1" } }),
        ),
      202,
      "made",
    ],
    [
      "nothing",
      (app, idempotent) => app.post("/x", idempotent.route("x"), async (_request, reply) => reply.code(204).send()),
      204,
      "",
    ],
    [
      "what an onSend hook made of it",
      (app, idempotent) => {
        app.addHook("onSend", async (_request, reply, payload) => {
          reply.header("content-language", "de");
          return `<${payload}>`;
        });
        app.post("/x", idempotent.route("x"), async () => "hi");
      },
      200,
      "<hi>",
    ],
  ])("replays %s", async (_, define, status, text) => {
    const url = await serve(define);
    const key = v7();
    const first = await send(`${url}/x`, key);
    const again = await send(`${url}/x`, key);
    expect([first.status, first.text, mark(first)]).toEqual([status, text, "executed"]);
    expect([again.status, again.text, mark(again)]).toEqual([status, text, "replayed"]);
    for (const name of ["content-type", "content-language", "location"]) {
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
  });

  it("lets the key go at once when a stream breaks off", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), async (request, reply) => {
        const { tx, key } = idempotent.execution(request);
        await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        const breaking = async function* () {
          yield "half";
          throw new Error("broken");
        };
        return reply.send(Readable.from(breaking()));
      });
    });
    const key = v7();
    const answers = [await send(`${url}/x`, key), await send(`${url}/x`, key)];
    for (const answer of answers) expect([answer.status, mark(answer)]).toEqual([500, null]);
    expect(await fixture.effects(key)).toBe(0);
  });

  it("replays every line of a listed header, and no cookie", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), async (_request, reply) =>
        reply.header("link", ["</a>", "</b>"]).header("set-cookie", "secret=1").send("ok"),
      );
    });
    const key = v7();
    const first = await send(`${url}/x`, key);
    expect(first.headers.get("set-cookie")).toBe("secret=1");
    const again = await send(`${url}/x`, key);
    expect(again.headers.get("link")).toBe("</a>, </b>");
    expect(again.headers.get("set-cookie")).toBeNull();
  });

  it("does its work and stores it though the client has gone", async () => {
    const [began, goOn] = [gate(), gate()];
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), async (request) => {
        const { tx, key } = idempotent.execution(request);
        began.open();
        await goOn.passed;
        await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        return "done";
      });
    });
    const key = v7();
    const client = new AbortController();
    const gone = expect(send(`${url}/x`, key, undefined, { signal: client.signal })).rejects.toThrow();
    await began.passed;
    client.abort();
    await gone;
    goOn.open();
    await expect.poll(() => fixture.effects(key)).toBe(1);
    expect(mark(await send(`${url}/x`, key))).toBe("replayed");
    expect(await fixture.effects(key)).toBe(1);
  });

  it("refuses bodies over Fastify's own limit, unclaimed", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", { ...idempotent.route("x"), bodyLimit: 10 }, async () => expect.unreachable());
    });
    const answer = await send(`${url}/x`, v7(), '{"n":"too long"}');
    expect([answer.status, mark(answer)]).toEqual([413, null]);
  });
});
