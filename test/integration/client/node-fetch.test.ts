/** The client on Node's own fetch, against real servers. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdk, post, type SdkOptions, type Store } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { sqliteStore } from "samekey/stores/sqlite";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type HttpServer, type Seen, startHttpServer } from "./http-server.js";

const created = { "content-type": "application/json", "idempotency-status": "executed" };
const servers: HttpServer[] = [];
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  for (const server of servers.splice(0)) await server.close();
});

type Answer = Parameters<typeof startHttpServer>[0];

/** Answers each request with the next of these, and after them with 201. */
async function serve(...answers: Answer[]): Promise<HttpServer> {
  const server = await startHttpServer((seen, response, request) => {
    const next = answers.shift();
    if (next) next(seen, response, request);
    else response.writeHead(201, created).end('{"id":"1"}');
  });
  servers.push(server);
  return server;
}

function open(
  baseUrl: string,
  store: Store = memoryStore(),
  more: Pick<SdkOptions<never>, "headers" | "fetch" | "retry"> = {},
) {
  const sdk = createSdk({
    name: "node",
    baseUrl,
    owner: "single",
    retention: "24h",
    store,
    retry: { base: 20, cap: 50 },
    ...more,
    operations: { transfer: post<{ amount: number; text?: string }, { id: string }>("/transfers") },
  });
  closers.push(() => sdk.close({ timeout: 0 }));
  return sdk;
}

const keysOf = (requests: readonly Seen[]) => requests.map(({ headers }) => headers["idempotency-key"]);
const send = (sdk: ReturnType<typeof open>) =>
  sdk
    .operation("transfer", { amount: 1, text: "ünïcödé" })
    .send()
    .catch((error: unknown) => error);

test("the request as it goes out: whole, with a length, one key, no surprises", async () => {
  const server = await serve();
  const result = (await send(open(server.url, undefined, { headers: () => ({ authorization: "Bearer t" }) }))) as {
    key: string;
  };
  const [seen] = server.requests;
  expect(seen?.body).toBe('{"amount":1,"text":"ünïcödé"}');
  expect(seen?.headers).toMatchObject({
    "content-length": String(Buffer.byteLength(seen?.body ?? "")),
    "content-type": "application/json",
    accept: "application/json",
    authorization: "Bearer t",
    "idempotency-key": result.key,
  });
  expect(seen?.headers["transfer-encoding"]).toBeUndefined();
  expect(seen?.rawHeaders.filter((name) => name.toLowerCase() === "idempotency-key")).toHaveLength(1);
});

describe("what is thrown is judged by where", () => {
  test("F37 refused connections: provably unsent, retried until the server is there", async () => {
    const server = await serve();
    await server.close();
    const store = memoryStore();
    const sending = send(open(server.url, store));
    await new Promise((resolve) => setTimeout(resolve, 150));
    const [record] = await store.page({});
    expect(record?.attempts).toBeGreaterThan(1);
    expect(record?.uncertainSince).toBeUndefined();
    expect(record?.history[0]).toMatchObject({ verdict: "unsent", cause: "TypeError ECONNREFUSED" });
    servers.push(await startHttpServer((_, response) => response.writeHead(201, created).end("{}"), server.port));
    expect(await sending).toMatchObject({ status: 201 });
  });

  test("F37 refused, says another fetch: it may have sent it before, so nothing is proved", async () => {
    const server = await serve((_, __, request) => {
      void server.close();
      request.socket.destroy();
    });
    const retrying: typeof fetch = async (input, init) => {
      for (let tries = 0; ; tries++) {
        try {
          return await fetch(input, init);
        } catch (error) {
          if (tries === 2) throw error;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    const store = memoryStore();
    const sdk = open(server.url, store, { fetch: retrying, retry: { attempts: 1 } });
    const outcome = await sdk.operation("transfer", { amount: 1 }).outcome();
    expect(server.requests).toHaveLength(1);
    expect(outcome).toMatchObject({ state: "unresolved", error: { code: "attempts" } });
  });

  test("F37 nor does a dispatcher that the call brings prove anything: it may send again by itself", async () => {
    const refusing = {
      dispatch: (_: unknown, handler: { onError(error: Error): void }) => {
        handler.onError(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
        return true;
      },
    };
    const store = memoryStore();
    const sdk = open("http://127.0.0.1:4321", store, { retry: { attempts: 1 } });
    const call = { method: "DELETE", dispatcher: refusing } as RequestInit;
    await sdk.fetch("http://127.0.0.1:4321/transfers/1", call).catch(() => {});
    const [record] = await store.page({});
    expect(record).toMatchObject({ state: "unresolved", history: [{ cause: "TypeError ECONNREFUSED" }] });
  });

  test("an error that is its own cause, or will not be looked at, is uncertain", async () => {
    const circle = new TypeError("fetch failed");
    circle.cause = circle;
    const shy = {
      get code() {
        throw new Error("not to be looked at");
      },
    };
    for (const error of [circle, shy]) {
      const broken = vi.spyOn(globalThis, "fetch").mockRejectedValue(error);
      const sdk = open("http://127.0.0.1:1", memoryStore(), { retry: { attempts: 1 } });
      const outcome = await sdk.operation("transfer", { amount: 1 }).outcome();
      broken.mockRestore();
      expect(outcome).toMatchObject({ state: "unresolved", error: { code: "attempts" } });
    }
  });

  test("F37 a name that does not resolve: provably unsent", async () => {
    const store = memoryStore();
    const sdk = open("http://no-such-host.invalid", store);
    await sdk
      .operation("transfer", { amount: 1 })
      .send({ wait: 300 })
      .catch(() => {});
    const [record] = await store.page({});
    expect(record).toMatchObject({ state: "pending", uncertainSince: undefined });
  });

  test("a connection that is reset after the request: uncertain, same key again", async () => {
    const store = memoryStore();
    const server = await serve((_, __, request) => request.socket.resetAndDestroy());
    expect(await send(open(server.url, store))).toMatchObject({ status: 201, attempts: 2 });
    expect(new Set(keysOf(server.requests)).size).toBe(1);
    expect((await store.page({}))[0]?.uncertainSince).toBeDefined();
  });

  test.each([
    [
      "a body shorter than its length",
      (_: Seen, response: import("node:http").ServerResponse) => {
        response.writeHead(201, { ...created, "content-length": "100" });
        response.write('{"id":');
        setTimeout(() => response.destroy(), 20);
      },
    ],
    [
      "chunks without an end",
      (_: Seen, response: import("node:http").ServerResponse) => {
        response.writeHead(201, created);
        response.write('{"id":"1"}');
        setTimeout(() => response.destroy(), 20);
      },
    ],
  ] as const)("F23 %s: not settled", async (_, cut) => {
    const server = await serve(cut);
    expect(await send(open(server.url))).toMatchObject({ data: { id: "1" }, attempts: 2 });
    expect(new Set(keysOf(server.requests)).size).toBe(1);
  });
});

describe("F27 redirects on Node", () => {
  const to =
    (status: number, location: string): Answer =>
    (_, response) =>
      response.writeHead(status, { location }).end("elsewhere");

  test.each([301, 302, 303])("%i is not followed and never settles", async (status) => {
    const server = await serve(to(status, "/landed"));
    expect(await send(open(server.url))).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(server.requests).toHaveLength(1);
  });

  test.each([307, 308])("%i to the same origin: sent on with method, body, key and credentials", async (status) => {
    const server = await serve(to(status, "/v2/transfers"));
    expect(await send(open(server.url, undefined, { headers: () => ({ authorization: "Bearer t" }) }))).toMatchObject({
      status: 201,
      attempts: 1,
    });
    const [a, b] = server.requests;
    expect(b).toMatchObject({ method: "POST", url: "/v2/transfers", body: a?.body });
    expect(b?.headers.authorization).toBe("Bearer t");
    expect(new Set(keysOf(server.requests)).size).toBe(1);
  });

  test("307 to another origin: blocked; neither key nor body nor credentials go there", async () => {
    const other = await serve();
    const server = await serve(to(307, `${other.url}/x`));
    expect(await send(open(server.url))).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(other.requests).toHaveLength(0);
  });
});

test("F24 204 and an empty 200 settle", async () => {
  const server = await serve(
    (_, response) => response.writeHead(204).end(),
    (_, response) => response.writeHead(200).end(),
  );
  expect(await send(open(server.url))).toMatchObject({ status: 204, data: undefined, attempts: 1 });
  expect(await send(open(server.url))).toMatchObject({ status: 200, data: undefined, attempts: 1 });
});

test("F25 a server that stalls in the middle of the body runs into the attempt's time-out", async () => {
  const server = await serve((_, response) => {
    response.writeHead(201, created);
    response.write('{"id":');
  });
  const sdk = createSdk({
    name: "node",
    baseUrl: server.url,
    owner: "single",
    retention: "24h",
    store: memoryStore(),
    attemptTimeout: 200,
    retry: { base: 10 },
    operations: { transfer: post<{ amount: number }>("/transfers") },
  });
  closers.push(() => sdk.close({ timeout: 0 }));
  expect(await sdk.operation("transfer", { amount: 1 }).send()).toMatchObject({ attempts: 2 });
});

test("F55 F56 over SQLite: no credential is in any of the store's files", async () => {
  const directory = await mkdtemp(join(tmpdir(), "samekey-client-"));
  try {
    const path = join(directory, "store.sqlite");
    const server = await serve(
      (_, response) => response.writeHead(503).end(),
      (_, response) => response.writeHead(201, { ...created, "set-cookie": "sid=SENTINEL-3" }).end("{}"),
    );
    const sdk = open(server.url, sqliteStore({ path }), {
      headers: () => ({
        authorization: "Bearer SENTINEL-1",
        cookie: "sid=SENTINEL-2",
      }),
    });
    const headers = { "x-csrf-token": "SENTINEL-4" };
    const result = await sdk.operation("transfer", { amount: 1 }, { intent: "to-be-found", headers }).send();
    await sdk.fetch("/x", { method: "POST", body: "x", headers: { authorization: "Basic SENTINEL-5" } });
    const files = await Promise.all(["", "-wal", "-shm"].map((suffix) => readFile(path + suffix, "latin1")));
    const bytes = files.join("");
    expect(bytes).toContain("to-be-found");
    expect(bytes).toContain(result.key);
    expect(bytes).not.toContain("SENTINEL");
    await sdk.close();
    expect(await readFile(path, "latin1")).not.toContain("SENTINEL");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test("sdk.fetch on Node's own Request and Response", async () => {
  const server = await serve(
    (_, response) => response.writeHead(503).end(),
    (_, response) => response.writeHead(402, { ...created, "content-type": "text/plain" }).end("poor"),
  );
  const sdk = open(server.url);
  const request = new Request(`${server.url}/pay`, { method: "POST", body: '{"a":1}' });
  const response = await sdk.fetch(request);
  expect([response.status, await response.text()]).toEqual([402, "poor"]);
  expect(server.requests.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}']);
  expect(new Set(keysOf(server.requests)).size).toBe(1);
});
