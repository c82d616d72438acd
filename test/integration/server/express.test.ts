import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, gunzipSync, gzipSync } from "node:zlib";
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from "express";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ExpressIdempotency, expressIdempotency } from "../../../src/server/adapters/express.js";
import { createIdempotency } from "../../../src/server/index.js";
import { type RawRequest, type RawResponse, send } from "../../support/raw-http.js";
import { type Fixture, gate, startFixture } from "./fixture.js";

let fixture: Fixture;
let directory: string;
const servers: Server[] = [];

beforeAll(async () => {
  fixture = await startFixture();
  directory = await mkdtemp(join(tmpdir(), "samekey-express-"));
}, 60_000);

afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  await fixture.stop();
  await rm(directory, { recursive: true });
});

type Hooks = ExpressIdempotency<import("pg").PoolClient>;

/** An app of its own; resolves to its URL. */
async function serve(define: (app: Express, idempotent: Hooks) => void, options: object = {}): Promise<string> {
  const app = express();
  app.set("env", "test");
  const tenant = ({ headers }: Request) => (headers.authorization === "none" ? undefined : "acct_1");
  define(app, expressIdempotency(createIdempotency({ db: fixture.pool, retention: "24h", tenant, ...options })));
  const server = createServer(app).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const post = (url: string, key: string, request: RawRequest = {}): Promise<RawResponse> =>
  send(url, {
    body: '{"n":1}',
    ...request,
    headers: { "content-type": "application/json", "idempotency-key": key, ...request.headers },
  });

const mark = ({ headers }: RawResponse) => headers["idempotency-status"]?.[0];
const told = (answer: RawResponse) => [answer.status, mark(answer), answer.body.toString()];

/** A route with one effect, answered by `answer`. */
const route =
  (answer: (response: Response, request: Request) => unknown) =>
  (app: Express, idempotent: Hooks): void => {
    app.post("/x", idempotent.route("x"), async (request, response) => {
      const { tx, key } = idempotent.execution(request);
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      await answer(response, request);
    });
  };

describe("an Express route", () => {
  it.each<[string, (response: Response) => unknown, number, string]>([
    ["json()", (response) => response.status(201).json({ a: 1 }), 201, '{"a":1}'],
    ["send()", (response) => response.send("text"), 200, "text"],
    ["sendStatus()", (response) => response.sendStatus(202), 202, "Accepted"],
    ["end() alone", (response) => response.status(204).end(), 204, ""],
    [
      "write() and end()",
      (response) => {
        response.write("a");
        response.write(Buffer.from("b"));
        response.end("c");
      },
      200,
      "abc",
    ],
    ["an encoding", (response) => response.end("6162", "hex"), 200, "ab"],
    [
      "writeHead()",
      (response) => response.writeHead(201, "Made", { "content-type": "text/x" }).end("made"),
      201,
      "made",
    ],
    [
      "writeHead() with a list",
      (response) => response.writeHead(201, ["content-type", "text/x"]).end("made"),
      201,
      "made",
    ],
    ["a pipe", (response) => Readable.from(["a", "b"]).pipe(response), 200, "ab"],
    ["a pipeline", (response) => pipeline(Readable.from(["a", "b"]), response), 200, "ab"],
    ["a redirect", (response) => response.redirect(303, "/y"), 303, "See Other. Redirecting to /y"],
    ["a file", (response) => response.sendFile(join(directory, "file.txt")), 200, "from a file"],
    ["headers that are flushed early", (response) => [response.flushHeaders(), response.json([])], 200, "[]"],
    ["callbacks of write() and end()", (response) => response.write("a", () => response.end("b", () => {})), 200, "ab"],
  ])("replays %s", async (_, answer, status, text) => {
    await writeFile(join(directory, "file.txt"), "from a file");
    const url = await serve(route(answer));
    const key = v7();
    const [first, again] = [await post(`${url}/x`, key), await post(`${url}/x`, key)];
    expect(told(first)).toEqual([status, "executed", text]);
    expect(told(again)).toEqual([status, "replayed", text]);
    for (const name of ["content-type", "content-length", "location", "etag"]) {
      expect(again.headers[name], name).toEqual(first.headers[name]);
    }
    expect(await fixture.effects(key)).toBe(1);
  });

  it.each<[string, express.RequestHandler, string, string, unknown]>([
    ["json", express.json(), "application/json", '{"a":1}', { a: 1 }],
    ["urlencoded", express.urlencoded({ extended: false }), "application/x-www-form-urlencoded", "a=1", { a: "1" }],
    ["text", express.text(), "text/plain", "abc", "abc"],
    ["raw", express.raw(), "application/octet-stream", "abc", { type: "Buffer", data: [97, 98, 99] }],
    [
      "json, of a large body",
      express.json({ limit: "1mb" }),
      "application/json",
      `["${"a".repeat(500_000)}"]`,
      undefined,
    ],
    ["json, without a body", express.json(), "application/json", "", {}],
  ])("leaves the body to the parser behind it: %s", async (_, parser, type, body, parsed) => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), parser, (request, response) => {
        response.json(parsed === undefined ? (request.body ?? null) : (request.body ?? {}));
      });
    });
    const key = v7();
    const headers = { "content-type": type };
    const first = await post(`${url}/x`, key, { body, headers });
    expect([first.status, JSON.parse(first.body.toString() || "null")]).toEqual([200, parsed ?? JSON.parse(body)]);
    expect(mark(await post(`${url}/x`, key, { body, headers }))).toBe("replayed");
  });

  it("stores what a parser refuses, like any refusal", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), express.json(), () => expect.unreachable());
    });
    const key = v7();
    const [first, again] = [await post(`${url}/x`, key, { body: "{" }), await post(`${url}/x`, key, { body: "{" })];
    expect([first.status, mark(first)]).toEqual([400, "executed"]);
    expect(told(again)).toEqual([400, "replayed", first.body.toString()]);
  });

  // F20
  it("says so where a parser came before it, and how to help", async () => {
    let error: unknown;
    const url = await serve((app, idempotent) => {
      app.use(express.json());
      app.post("/x", idempotent.route("x"), () => expect.unreachable());
      const keep: ErrorRequestHandler = (thrown, _request, response, _next) => {
        error = thrown;
        response.sendStatus(500);
      };
      app.use(keep);
    });
    const answer = await post(`${url}/x`, v7());
    expect([answer.status, mark(answer)]).toEqual([500, undefined]);
    expect(error).toMatchObject({ code: "bad_option", message: expect.stringContaining("rawBody") });
  });

  it.each<[string, express.RequestHandler]>([
    [
      "rawBody",
      express.json({
        verify: (request, _response, bytes) => {
          Object.assign(request, { rawBody: bytes });
        },
      }),
    ],
    ["a body of bytes", express.raw({ type: () => true })],
  ])("takes the bytes that a parser in front kept as %s", async (_, parser) => {
    const url = await serve((app, idempotent) => {
      app.use(parser);
      route((response) => response.json({ ok: true }))(app, idempotent);
    });
    const key = v7();
    expect((await post(`${url}/x`, key, { body: "[9007199254740993]" })).status).toBe(200);
    expect((await post(`${url}/x`, key, { body: "[9007199254740992]" })).status).toBe(422);
    expect(mark(await post(`${url}/x`, key, { body: "[9007199254740993]" }))).toBe("replayed");
  });

  it("claims after authentication and before validation", async () => {
    const url = await serve((app, idempotent) => {
      app.post(
        "/x",
        (request, response, next) =>
          request.headers["x-banned"] ? void response.status(403).json({ error: "banned" }) : next(),
        idempotent.route("x"),
        express.json(),
        (request, response) => {
          if (!request.body.amount) response.status(400).json({ error: "amount" });
        },
      );
    });
    const key = v7();
    expect(told(await post(`${url}/x`, key, { headers: { "x-banned": "1" } }))).toEqual([
      403,
      undefined,
      '{"error":"banned"}',
    ]);
    expect((await post(`${url}/x`, key, { headers: { authorization: "none" } })).status).toBe(401);
    expect(mark(await post(`${url}/x`, key))).toBe("executed");
    expect(told(await post(`${url}/x`, key))).toEqual([400, "replayed", '{"error":"amount"}']);
  });

  it("judges an error handler's answer by its status, and drops what had been written before", async () => {
    let status = 500;
    const url = await serve((app, idempotent) => {
      route((response) => {
        response.set("content-length", "1000").write("half an answer");
        throw new Error("bug");
      })(app, idempotent);
      const answer: ErrorRequestHandler = (_error, _request, response, next) =>
        response.headersSent ? next() : response.status(status).end("sorry");
      app.use(answer);
    });
    const key = v7();
    expect(told(await post(`${url}/x`, key))).toEqual([500, undefined, "sorry"]);
    status = 422;
    expect(told(await post(`${url}/x`, key))).toEqual([422, "executed", "sorry"]);
    expect(told(await post(`${url}/x`, key))).toEqual([422, "replayed", "sorry"]);
    expect(await fixture.effects(key)).toBe(0);
  });

  it("gives what could not be stored to the error handler, without a trace of the answer", async () => {
    const url = await serve((app, idempotent) => {
      app.use((_request, response, next) => {
        response.set("x-before", "1");
        next();
      });
      app.post("/x", idempotent.route("x"), async (request, response) => {
        await idempotent
          .execution(request)
          .tx.query("SELECT 1 / 0")
          .catch(() => {});
        response.cookie("session", "1").status(201).location("/paid").json({ paid: true });
      });
      const answer: ErrorRequestHandler = (error, _request, response, _next) =>
        void response.status(500).json({ code: error.code });
      app.use(answer);
    });
    const answer = await post(`${url}/x`, v7());
    expect(told(answer)).toEqual([500, undefined, expect.stringContaining("code")]);
    expect([answer.headers["set-cookie"], answer.headers["location"], answer.headers["x-before"]]).toEqual([
      undefined,
      undefined,
      ["1"],
    ]);
  });

  it.each([
    ["lost against another one, where `onError` is mounted", "deadlock_detected", 503, '"error":"contention"'],
    ["failed otherwise", "division_by_zero", 500, '"own":true'],
  ])("answers for a transaction that %s", async (_, state, status, body) => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), async (request, response) => {
        const { tx, key } = idempotent.execution(request);
        response.status(201).set("x-own", "1").write("half");
        await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'failed' USING ERRCODE = '${state}'; END $$`);
      });
      const own: ErrorRequestHandler = (_error, _request, response, _next) => response.status(500).json({ own: true });
      app.use(idempotent.onError, own);
    });
    const key = v7();
    const answer = await post(`${url}/x`, key);
    expect([answer.status, mark(answer), answer.headers["retry-after"]?.[0]]).toEqual([
      status,
      undefined,
      status === 503 ? "1" : undefined,
    ]);
    expect(answer.body.toString()).toContain(body);
    expect(await fixture.effects(key)).toBe(0);
  });

  it("finishes its response only after the commit", async () => {
    const stored: number[] = [];
    const url = await serve((app, idempotent) => {
      app.use((request, response, next) => {
        response.on("finish", async () => stored.push(await fixture.records(`o${request.headers["idempotency-key"]}`)));
        next();
      });
      route((response) => response.json({ ok: true }))(app, idempotent);
    });
    await post(`${url}/x`, "finish-after-commit");
    await vi.waitFor(() => expect(stored).toEqual([1]));
  });

  it("keeps what earlier middleware puts on every answer, whatever is replayed", async () => {
    const url = await serve((app, idempotent) => {
      app.use((_request, response, next) => {
        response.set({ "access-control-allow-origin": "*", "idempotency-status": "spoofed" });
        next();
      });
      route((response) => response.json({ ok: true }))(app, idempotent);
    });
    const key = v7();
    for (const expected of ["executed", "replayed"]) {
      const answer = await post(`${url}/x`, key);
      expect([mark(answer), answer.headers["access-control-allow-origin"]]).toEqual([expected, ["*"]]);
    }
    const mismatch = await post(`${url}/x`, key, { body: "{}" });
    expect([mismatch.status, mark(mismatch), mismatch.headers["access-control-allow-origin"]]).toEqual([
      422,
      undefined,
      ["*"],
    ]);
  });

  it("lets middleware in front compress what is sent, stored and replayed plain", async () => {
    const url = await serve((app, idempotent) => {
      app.use((request, response, next) => {
        compressed(request, response);
        next();
      });
      route((response) => response.json({ text: "a".repeat(2000) }))(app, idempotent);
    });
    const key = v7();
    const zipped = await post(`${url}/x`, key, { headers: { "accept-encoding": "gzip" } });
    expect([mark(zipped), zipped.headers["content-encoding"]]).toEqual(["executed", ["gzip"]]);
    const plain = await post(`${url}/x`, key);
    expect([mark(plain), plain.headers["content-encoding"]]).toEqual(["replayed", undefined]);
    expect(gunzipSync(zipped.body)).toEqual(plain.body);
    expect(gunzipSync((await post(`${url}/x`, key, { headers: { "accept-encoding": "gzip" } })).body)).toEqual(
      plain.body,
    );
  });

  it("replays what middleware behind it compressed, as it is", async () => {
    const url = await serve((app, idempotent) => {
      app.post(
        "/x",
        idempotent.route("x"),
        (request, response, next) => {
          compressed(request, response);
          next();
        },
        (_request, response) => {
          response.json({ text: "a".repeat(2000) });
        },
      );
    });
    const key = v7();
    const headers = { "accept-encoding": "gzip" };
    const [first, again] = [await post(`${url}/x`, key, { headers }), await post(`${url}/x`, key, { headers })];
    expect([mark(first), mark(again), again.headers["content-encoding"]]).toEqual(["executed", "replayed", ["gzip"]]);
    expect(again.body).toEqual(first.body);
  });

  it("takes a compressed request, whose parser decodes it", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), express.json(), (request, response) => {
        response.json(request.body);
      });
    });
    const request = { body: gzipSync('{"n":1}'), headers: { "content-encoding": "gzip" } };
    const key = v7();
    expect(told(await post(`${url}/x`, key, request))).toEqual([200, "executed", '{"n":1}']);
    expect(told(await post(`${url}/x`, key, request))).toEqual([200, "replayed", '{"n":1}']);
  });

  it("lets the key go at once when a stream breaks off", async () => {
    const url = await serve(
      route(async (response) => {
        const breaking = async function* () {
          yield "half";
          throw new Error("broken");
        };
        await pipeline(Readable.from(breaking()), response);
      }),
    );
    const key = v7();
    for (const _ of [1, 2]) await expect(post(`${url}/x`, key)).rejects.toThrow();
    expect(await fixture.effects(key)).toBe(0);
  });

  it("swallows what a route writes after its deadline", async () => {
    const goOn = gate();
    const ended = gate();
    const url = await serve(
      route(async (response) => {
        await goOn.passed;
        response.write("late");
        response.end("too late");
        ended.open();
      }),
      { handlerTimeout: 100 },
    );
    const answer = await post(`${url}/x`, v7());
    expect([answer.status, JSON.parse(answer.body.toString()).error]).toEqual([503, "handler_timeout"]);
    goOn.open();
    await ended.passed;
    expect((await post(`${url}/x`, "")).status).toBe(400);
  });

  it("chooses its engine by the request and its bytes", async () => {
    const tenant = () => "acct_1";
    const engines = ["one", "two"].map((schema) =>
      createIdempotency({ db: fixture.pool, retention: "24h", tenant, schema }),
    );
    await Promise.all(engines.map((engine) => engine.migrate()));
    const app = express();
    const idempotent = expressIdempotency((_request, body) => {
      const engine = engines[JSON.parse(Buffer.from(body).toString()).shard];
      if (engine === undefined) throw new Error("no such shard");
      return engine;
    });
    route((response) => response.json({ ok: true }))(app, idempotent);
    const server = createServer(app).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/x`;
    const key = v7();
    expect(mark(await post(url, key, { body: '{"shard":0}' }))).toBe("executed");
    expect(mark(await post(url, key, { body: '{"shard":1}' }))).toBe("executed");
    expect(mark(await post(url, key, { body: '{"shard":0}' }))).toBe("replayed");
  });

  it("has no execution where it is not mounted", async () => {
    const url = await serve((app, idempotent) => {
      app.post("/x", (request, response) => {
        expect(() => idempotent.execution(request)).toThrow(/no idempotency middleware/);
        response.end();
      });
    });
    expect((await post(`${url}/x`, v7())).status).toBe(200);
  });

  it("forgets a request whose client goes away in the middle of the body", async () => {
    const reached = vi.fn();
    const url = await serve((app, idempotent) => {
      app.post("/x", idempotent.route("x"), (_request, response) => {
        reached();
        response.end();
      });
      app.use(((_error, _request, _response, _next) => gone.open()) as ErrorRequestHandler);
    });
    const gone = gate();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("POST /x HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 10\r\n\r\nhalf");
    await once(socket, "connect");
    await vi.waitFor(() => expect(servers.at(-1)?.connections ?? 1).toBeGreaterThan(0));
    socket.resetAndDestroy();
    await gone.passed;
    expect(reached).not.toHaveBeenCalled();
  });
});

/** What middleware like `compression` does: puts a coder between the response's methods and the wire. */
function compressed(request: Request, response: Response): void {
  if (!request.headers["accept-encoding"]?.includes("gzip")) return;
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const gzip = createGzip();
  let begun = false;
  const begin = (): void => {
    if (begun) return;
    begun = true;
    response.setHeader("content-encoding", "gzip");
    response.removeHeader("content-length");
    response.writeHead(response.statusCode);
    gzip.on("data", (chunk) => write(chunk));
    gzip.on("end", () => end());
  };
  Object.assign(response, {
    write(chunk: string | Buffer) {
      begin();
      return gzip.write(chunk);
    },
    end(chunk?: string | Buffer) {
      begin();
      gzip.end(chunk);
      return response;
    },
  });
}
