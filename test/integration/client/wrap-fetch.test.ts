/** `wrapFetch` on Node's own fetch and SQLite, against a real server: bytes over attempts and a restart. */

import { mkdtemp, openAsBlob, rm, writeFile } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { type WrappedFetch, wrapFetch } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type HttpServer, type Seen, startHttpServer } from "./http-server.js";

type Answer = Parameters<typeof startHttpServer>[0];

const created = { "content-type": "application/json", "idempotency-status": "executed", "request-id": "r-1" };
let directory: string;
let answers: Answer[];
let server: HttpServer;
const open: WrappedFetch[] = [];

beforeEach(async () => {
  directory = await promisify(mkdtemp)(join(tmpdir(), "samekey-wrap-"));
  answers = [];
  server = await startHttpServer((seen, response, request) => {
    const next = answers.shift();
    if (next) next(seen, response, request);
    else response.writeHead(201, created).end('{"id":"1"}');
  });
});

afterEach(async () => {
  for (const { sdk } of open.splice(0)) await sdk.close({ timeout: 0 });
  await server.close();
  await promisify(rm)(directory, { recursive: true, force: true });
});

/** As one process has it: another call is another process over the same file. */
function wrap(more: { headers?: () => Record<string, string> } = {}): WrappedFetch {
  const wrapped = wrapFetch(globalThis.fetch, {
    name: "wrap",
    owner: "single",
    retention: "24h",
    baseUrl: server.url,
    only: "/v1",
    store: sqliteStore({ path: join(directory, "store.sqlite") }),
    retry: { base: 10, cap: 20 },
    ...more,
  });
  open.push(wrapped);
  return wrapped;
}

const fail: Answer = (_, response) => void response.writeHead(503).end();
const reset: Answer = (_, __, request) => void request.socket.resetAndDestroy();
const hang: Answer = () => {};

function form(): FormData {
  const made = new FormData();
  made.append("amount", "5");
  made.append("file", new File([Buffer.from([0, 255, 13, 10, 45, 45])], 'r"ä".bin', { type: "application/x-a" }));
  return made;
}

async function* pieces() {
  yield Buffer.from([1, 2]);
  yield Buffer.from([3]);
}

const kinds: [string, (path: string) => BodyInit | Promise<BodyInit>][] = [
  ["text", () => "ünïcödé"],
  ["JSON text", () => '{ "a": 1.0 }'],
  ["parameters", () => new URLSearchParams({ a: "1 2", b: "ä" })],
  ["a form", form],
  ["bytes with every value", () => Uint8Array.from({ length: 256 }, (_, i) => i)],
  ["a view into a buffer", () => new DataView(new ArrayBuffer(9), 3, 4)],
  ["a Blob", () => new Blob(["a", new Uint8Array([255])], { type: "image/png" })],
  ["a file from disk", (path) => openAsBlob(path, { type: "text/csv" })],
  ["a stream", () => new Blob([new Uint8Array(70_000).fill(7)]).stream()],
  ["a Node stream", () => Readable.from(pieces()) as never],
];

/** What of a request the platform's fetch and ours have to have in common. */
function told({ method, url, headers, bytes }: Seen) {
  const type = headers["content-type"] ?? "";
  const boundary = /boundary=(\S+)$/.exec(type)?.[1];
  const text = bytes.toString("latin1");
  const settle = (value: string) => (boundary ? value.replaceAll(boundary, "BOUNDARY") : value);
  return { method, url, type: settle(type), text: settle(text), accept: headers.accept };
}

test.each(kinds)("%s: what plain fetch sends, byte for byte, over attempts and a restart", async (_, make) => {
  const file = join(directory, "a.csv");
  await promisify(writeFile)(file, "a;b\n");
  const init = async () => ({ method: "POST", body: await make(file), duplex: "half" }) as RequestInit;
  await fetch(`${server.url}/v1/things?x=1`, await init());
  answers.push(fail, reset, hang);
  const first = wrap();
  const sending = first(`${server.url}/v1/things?x=1`, await init()).catch((error: unknown) => error);
  await expect.poll(() => server.requests.length, { timeout: 5_000 }).toBe(4);
  await first.sdk.close({ timeout: 0 });
  expect(await sending).toMatchObject({ code: "closed" });
  const second = wrap();
  await second.sdk.resume();
  expect(await second.sdk.counts()).toEqual({ succeeded: 1 });
  const [plain, ...ours] = server.requests;
  expect(ours).toHaveLength(4);
  for (const seen of ours) {
    expect(told(seen)).toEqual(plain && told(plain));
    expect(seen.bytes.equals(ours[0]?.bytes as Buffer)).toBe(true);
    expect(seen.headers["content-type"]).toBe(ours[0]?.headers["content-type"]);
    expect(seen.headers["content-length"]).toBe(String(seen.bytes.length));
  }
  expect(plain?.headers["idempotency-key"]).toBeUndefined();
  expect(new Set(ours.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("F23 a caller that mints a key per call: answers cut off and lost, a restart, one key and one effect", async () => {
  const cut: Answer = (_, response) => {
    response.writeHead(201, { ...created, "content-length": "100" });
    response.write('{"id":');
    setTimeout(() => response.destroy(), 20);
  };
  answers.push(cut, reset, hang);
  const call = (fetch: WrappedFetch, key: string) =>
    fetch(`${server.url}/v1/pay`, {
      method: "POST",
      body: form(),
      headers: { "Idempotency-Key": key, authorization: "Bearer t" },
      intent: "order-1",
    });
  const first = wrap();
  void call(first, "sdk-1").catch(() => {});
  await expect.poll(() => server.requests.length, { timeout: 5_000 }).toBe(3);
  await first.sdk.close({ timeout: 0 });
  const second = wrap();
  const response = await call(second, "sdk-2");
  expect([response.status, response.headers.get("request-id"), await response.json()]).toEqual([
    201,
    "r-1",
    { id: "1" },
  ]);
  const keys = new Set(server.requests.map(({ headers }) => headers["idempotency-key"]));
  expect([...keys]).toEqual([expect.not.stringMatching(/^sdk/)]);
  expect(new Set(server.requests.map(({ bytes }) => bytes.toString("latin1"))).size).toBe(1);
  await second.sdk.close();
  const third = wrap();
  expect(await (await call(third, "sdk-3")).json(), "from the store").toEqual({ id: "1" });
  expect(server.requests).toHaveLength(4);
});

test.each(["manual", "error"] as const)(
  "F27 redirect: %s follows nothing, not even 307 to the same origin",
  async (redirect) => {
    answers.push((_, response) => void response.writeHead(307, { location: "/v1/landed" }).end());
    const error = await wrap()(`${server.url}/v1/pay`, { method: "POST", body: "a", redirect }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(server.requests).toHaveLength(1);
  },
);

test("an event stream arrives as it is written, and a read is not recorded", async () => {
  const wrapped = wrap();
  let end = (): void => {};
  answers.push((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    end = () => response.end();
  });
  const headers = { accept: "text/event-stream" };
  const response = await wrapped(`${server.url}/v1/events`, { method: "POST", body: "{}", headers });
  const reader = response.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 1\n\n");
  end();
  expect((await reader?.read())?.done).toBe(true);
  expect((await wrapped(`${server.url}/v1/things`)).status).toBe(201);
  expect(await wrapped.sdk.counts()).toEqual({});
});
