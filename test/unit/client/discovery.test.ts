import { type Duration, post } from "samekey";
import { createTestSdk, status, type TestSdk, type TestSdkOptions } from "samekey/testing";
import { describe, expect, test, vi } from "vitest";
import type { LogEntry } from "../../../src/client/types.js";
import { createBrowser, fate, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer>("/transfers") };
const HOUR = 3_600_000;
const contract = { header: "Idempotency-Key", retention: 3600 };
const path = "/.well-known/idempotency";
const failing = status(503, { times: Number.POSITIVE_INFINITY });

/** An app that discovers `document`, configured for 24 h. */
function discovering(document: unknown, options: TestSdkOptions<typeof operations> = {}) {
  const logged: LogEntry[] = [];
  // Few attempts, so that days pass quickly.
  const retry = { base: "20m", cap: "20m" } as const;
  const app = createTestSdk({ operations, discover: true, retry, log: (entry) => logged.push(entry), ...options });
  app.server.on("GET", "/contract", () => Response.json(contract));
  app.server.on("GET", path, () => (document instanceof Response ? document.clone() : Response.json(document)));
  return { app, logged };
}

const reads = ({ server }: TestSdk<typeof operations>) => server.calls.filter((call) => call.path === path);
const writes = ({ server }: TestSdk<typeof operations>) => server.calls.filter(({ method }) => method === "POST");
const send = (app: TestSdk<typeof operations>) => app.until(app.sdk.operation("transfer", { amount: 1 }).send());

/** From the first attempt of an operation that nobody ever answers well to the last one, in hours. */
async function persistence(app: TestSdk<typeof operations>): Promise<number> {
  app.server.script(failing);
  void fate(app.sdk.operation("transfer", { amount: 1 }).send());
  await app.advance("26h");
  const times = writes(app).map(({ at }) => at);
  return ((times.at(-1) ?? 0) - (times[0] ?? 0)) / HOUR;
}

describe("discover", () => {
  test("reads the contract at first use, once, and never before", async () => {
    const { app } = discovering(contract);
    await app.advance("1m");
    expect(app.server.calls).toEqual([]);
    await send(app);
    await send(app);
    expect(reads(app)).toHaveLength(1);
  });

  test("reads it at start(), with nothing to do", async () => {
    const { app } = discovering(contract);
    app.sdk.start();
    await app.advance("1s");
    expect(reads(app)).toHaveLength(1);
  });

  test("is off unless asked for, and must be true or false", async () => {
    const { app } = discovering(contract, { discover: undefined });
    app.sdk.start();
    await send(app);
    expect(reads(app)).toEqual([]);
    expect(() => createTestSdk({ discover: "yes" as never })).toThrow(/`discover`/);
  });

  test("asks without credentials, key or headers(), follows no redirect, and asks baseUrl's origin", async () => {
    const browser = createBrowser({ baseUrl: "https://api.example.com/v1" });
    const fetch = vi.fn(browser.server.fetch);
    const headers = () => ({ authorization: "Bearer secret" });
    const sdk = browser.open({ operations, discover: true, fetch, headers });
    await browser.clock.until(sdk.operation("transfer", { amount: 1 }).send());
    const [url, init] = fetch.mock.calls.find(([, { method } = {}]) => method !== "POST") ?? [];
    expect(url).toBe("https://api.example.com/.well-known/idempotency");
    expect(init).toMatchObject({ credentials: "omit", redirect: "error" });
    expect(init?.headers).toBeUndefined();
  });

  test("holds up nothing: a server that never answers it answers the operation", async () => {
    const { app, logged } = discovering(contract);
    app.server.on("GET", path, () => new Promise(() => {}));
    const at = app.clock.now();
    await send(app);
    expect(app.clock.now()).toBe(at);
    await app.until(app.sdk.close());
    expect(logged).toEqual([]);
  });

  test("gives a silent server up after half a minute, and says so", async () => {
    const { app, logged } = discovering(contract);
    app.server.on("GET", path, () => new Promise(() => {}));
    await send(app);
    await app.advance("31s");
    expect(logged).toEqual([expect.objectContaining({ level: "warn", message: expect.stringContaining(path) })]);
  });
});

describe("a shorter retention", () => {
  test("I6 ends the attempts of an operation in the window that the server tells", async () => {
    const { app } = discovering(contract);
    const hours = await persistence(app);
    expect(hours).toBeGreaterThan(0.5);
    expect(hours).toBeLessThanOrEqual(55 / 60);
    expect(await app.store.page({})).toMatchObject([{ state: "unresolved", code: "key_expired" }]);
  });

  test("I6 holds for what was recorded and sent before anybody knew of it", async () => {
    const { app } = discovering(contract);
    let known = false;
    app.server.on("GET", path, () => (known ? Response.json(contract) : new Response(null, { status: 404 })));
    app.server.script(failing);
    void fate(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance("4h");
    known = true;
    await app.advance("2d");
    const toldAt = reads(app).at(-1)?.at ?? 0;
    expect(writes(app).filter(({ at }) => at > toldAt)).toEqual([]);
    expect(await app.store.page({})).toMatchObject([{ state: "unresolved", code: "key_expired" }]);
  });

  test("is written down with the next attempt, and outlives a restart without the server", async () => {
    const { app } = discovering(contract);
    app.sdk.start();
    await app.advance("1s");
    app.server.script(failing);
    void fate(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance("1m");
    expect(await app.store.page({})).toMatchObject([{ wire: { retention: HOUR } }]);
    app.server.on("GET", path, () => new Response(null, { status: 404 }));
    app.crash();
    app.sdk.start();
    await app.advance("2h");
    expect(await app.store.page({})).toMatchObject([{ state: "unresolved", code: "key_expired" }]);
  });

  test("mints a key anew that has waited for longer than a tenth of it", async () => {
    const { app } = discovering(contract);
    const saved = await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    app.offline(true);
    app.sdk.start();
    await app.advance("30m");
    app.offline(false);
    await app.advance("1m");
    expect(writes(app)).toHaveLength(1);
    expect(writes(app)[0]?.key).not.toBe(saved.key);
  });

  test("says nothing of other origins, and leaves what is settled as it was recorded", async () => {
    const elsewhere = { transfer: post<Transfer>("https://other.example.com/transfers") };
    const { app } = discovering(contract, { operations: elsewhere });
    app.sdk.start();
    await app.advance("1s");
    const saved = await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    await app.advance("1m");
    expect((await app.sdk.get(saved.id))?.wire.retention).toBe(24 * HOUR);
  });
});

describe("a document", () => {
  const long = (retention: number) => Response.json({ retention, padding: "x".repeat(20_000) });
  test.each<[string, unknown, string | undefined]>([
    ["of a longer retention", { ...contract, retention: 10 * 86_400 }, undefined],
    ["of the same retention", { ...contract, retention: 86_400 }, undefined],
    ["without a retention", { header: "Idempotency-Key" }, "no `retention`"],
    ["of no retention", { ...contract, retention: 0 }, "no `retention`"],
    ["of a negative retention", { ...contract, retention: -1 }, "no `retention`"],
    ["of an endless retention", new Response('{"header":"Idempotency-Key","retention":1e999}'), "no `retention`"],
    ["of a retention in words", { ...contract, retention: "3600" }, "no `retention`"],
    ["that is nothing", new Response("null"), "null"],
    ["that is a page", new Response("<!doctype html>"), "JSON"],
    ["that is empty", new Response(null), "JSON"],
    ["that is missing", new Response("{}", { status: 404 }), "HTTP 404"],
    ["that is an error", Response.json(contract, { status: 500 }), "HTTP 500"],
    ["that lies elsewhere", new Response(null, { status: 302, headers: { location: "/contract" } }), "fetch"],
    ["that is longer than any contract", long(3600), "too long"],
  ])("%s changes nothing", async (_, document, cause) => {
    const { app, logged } = discovering(document);
    const hours = await persistence(app);
    expect(hours).toBeGreaterThan(20);
    expect(hours).toBeLessThanOrEqual(24);
    const told = logged.filter(({ message }) => message.includes(path));
    if (cause === undefined) expect(told).toEqual([]);
    else expect(told[0]).toMatchObject({ level: "warn", cause: { message: expect.stringContaining(cause) } });
  });

  test("that names another header changes nothing, but is told", async () => {
    const { app, logged } = discovering({ ...contract, header: "X-Request-Key" });
    await send(app);
    await send(app);
    expect(writes(app).every(({ key }) => key !== undefined)).toBe(true);
    expect(logged).toEqual([
      expect.objectContaining({ level: "warn", name: "transfer", message: expect.stringContaining("idempotency-key") }),
    ]);
  });

  test.each<[string, string | undefined, Duration, number]>([
    ["after its max-age", "public, max-age=300", "301s", 2],
    ["not within it", "public, max-age=300", "299s", 1],
    ["after an hour without one", undefined, "61m", 2],
    ["not within that hour", undefined, "59m", 1],
    ["no sooner than a minute", "max-age=0", "59s", 1],
    ["after a day or so at the latest", "max-age=99999999999", "28h", 2],
  ])("is read again, at the next use, %s", async (_, cacheControl, passed, times) => {
    const headers: Record<string, string> = cacheControl === undefined ? {} : { "cache-control": cacheControl };
    const { app } = discovering(Response.json(contract, { headers }));
    await send(app);
    await app.advance(passed);
    expect(reads(app)).toHaveLength(1);
    await send(app);
    expect(reads(app)).toHaveLength(times);
  });

  test("that was there and is gone still counts; a longer one then holds for what is recorded later", async () => {
    const { app } = discovering(contract);
    let answer = Response.json(contract);
    app.server.on("GET", path, () => answer.clone());
    await send(app);
    const retentionOf = async () => {
      const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
      return (await app.sdk.get(id))?.wire.retention;
    };
    answer = new Response(null, { status: 404 });
    await app.advance("2h");
    expect(await retentionOf()).toBe(HOUR);
    answer = Response.json({ ...contract, retention: 7200 });
    await app.advance("2h");
    await retentionOf();
    expect(await retentionOf()).toBe(2 * HOUR);
  });
});
