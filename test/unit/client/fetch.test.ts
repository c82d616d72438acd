import { createTestSdk, lose, status, unprocessable } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { collect, fate } from "./kit.js";

const json = { "content-type": "application/json" };

describe("sdk.fetch", () => {
  test.each([
    ["text", "a=1", "text/plain;charset=UTF-8", "a=1"],
    ["JSON", { a: 1 }, "application/json", '{"a":1}'],
    ["bytes", new Uint8Array([104, 105]), null, "hi"],
    ["a form", new URLSearchParams({ a: "1 2" }), "application/x-www-form-urlencoded;charset=UTF-8", "a=1+2"],
    ["nothing", undefined, null, ""],
  ])("sends %s, keyed and retried, and answers with a Response", async (_, body, type, text) => {
    const app = createTestSdk();
    app.server.script(lose.response());
    const response = await app.until(app.sdk.fetch("/transfers?x=1", { method: "post", body }));
    expect(response).toBeInstanceOf(Response);
    expect([response.status, await response.json()]).toEqual([201, { id: "1" }]);
    expect(response.headers.get("idempotency-status")).toBe("replayed");
    const [a, b] = app.server.calls;
    expect(a?.key).toBeDefined();
    expect([a?.key, a?.text(), a?.url]).toEqual([b?.key, text, "https://api.example.com/transfers?x=1"]);
    expect(a?.headers.get("content-type")).toBe(type);
    expect(app.server.effects).toHaveLength(1);
  });

  test("with an intent the recorded key replaces the request's; without, the request's is the operation's", async () => {
    const app = createTestSdk();
    const send = (key: string, intent?: string) =>
      app.until(app.sdk.fetch("/t", { method: "POST", body: { a: 1 }, intent, headers: { "Idempotency-Key": key } }));
    await send("k-1", "order-1");
    await send("k-2", "order-1");
    expect(app.server.calls).toHaveLength(1);
    expect(app.server.calls[0]?.key).not.toMatch(/^k-/);
    await send('"k-3"');
    await send("k-3");
    expect(app.server.calls.map(({ key }) => key).slice(1)).toEqual(["k-3"]);
    const error = await app.until(
      fate(app.sdk.fetch("/t", { method: "POST", body: { a: 2 }, headers: { "idempotency-key": "k-3" } })),
    );
    expect(error).toMatchObject({ code: "key_reused" });
    expect(
      await app.until(fate(app.sdk.fetch("/t", { method: "POST", body: { a: 2 }, intent: "order-1" }))),
    ).toMatchObject({ code: "intent_mismatch" });
  });

  test("F16 a Request is used once, and sent as often as needed; a used one is refused", async () => {
    const app = createTestSdk();
    app.server.script(status(503));
    const request = new Request("https://api.example.com/t", { method: "POST", body: '{"a":1}', headers: json });
    expect((await app.until(app.sdk.fetch(request))).status).toBe(201);
    expect(app.server.calls.map((call) => [call.text(), call.headers.get("content-type")])).toEqual([
      ['{"a":1}', "application/json"],
      ['{"a":1}', "application/json"],
    ]);
    expect(request.bodyUsed).toBe(true);
    expect(await app.until(fate(app.sdk.fetch(request)))).toMatchObject({ code: "body_not_replayable" });
  });

  test("reads, other origins and event streams pass through untouched", async () => {
    const app = createTestSdk();
    app.server.on("GET", "/balance", () => Response.json({ balance: 7 }));
    expect(await (await app.until(app.sdk.fetch("https://api.example.com/balance"))).json()).toEqual({ balance: 7 });
    await app.until(app.sdk.fetch("https://other.example.org/t", { method: "POST", body: "x" }));
    const headers = { accept: "text/event-stream" };
    await app.until(app.sdk.fetch("https://api.example.com/s", { method: "POST", body: "x", headers }));
    expect(app.server.calls.map(({ key }) => key)).toEqual([undefined, undefined]);
    expect(await app.sdk.counts()).toEqual({});
  });

  test("a relative URL is a path below baseUrl, for reads and writes; the passed-on one is absolute", async () => {
    const app = createTestSdk({ baseUrl: "https://api.example.com/v1" });
    app.server.on("GET", "/t", () => Response.json({}));
    for (const method of ["GET", "POST"]) {
      for (const path of ["/t", "t", "https://api.example.com/v1/t", "//api.example.com/v1/t"]) {
        expect((await app.until(app.sdk.fetch(path, { method }))).ok).toBe(true);
      }
    }
    expect(app.server.calls.map(({ url }) => url)).toEqual(Array(8).fill("https://api.example.com/v1/t"));
    expect(app.server.calls.filter(({ key }) => key)).toHaveLength(4);
  });

  test("the log warns once per origin of writes that pass through", async () => {
    const warned: string[] = [];
    const app = createTestSdk({ log: ({ level, message }) => level === "warn" && warned.push(message) });
    const send = (url: string, method = "POST") => app.until(app.sdk.fetch(url, { method, headers: {} }));
    await send("https://read.example.org/t", "GET");
    await send("https://other.example.org/t");
    await send("https://other.example.org/u");
    await send("/t");
    expect(warned).toEqual(["writes to https://other.example.org pass through: it is not baseUrl's"]);
  });

  test("a final 4xx comes back as a Response, 422 raises, so does what is not over", async () => {
    const app = createTestSdk({ wait: "1s" });
    const send = () => app.until(fate(app.sdk.fetch("/t", { method: "POST", body: "x" })));
    app.server.script(status(402, { body: "poor", headers: { "x-secret": "s", etag: "1" } }));
    const refused = (await send()) as Response;
    expect([refused.status, await refused.text(), refused.headers.get("etag")]).toEqual([402, "poor", "1"]);
    app.server.script(unprocessable());
    expect(await send()).toMatchObject({ name: "MisuseError", code: "key_reused" });
    app.server.script(status(401));
    expect(await send()).toMatchObject({ name: "PendingError", code: "blocked" });
    app.server.script(status(503, { times: 9, headers: { "retry-after": "60" } }));
    expect(await send()).toMatchObject({ name: "PendingError", code: "pending" });
  });

  test("204 has no body", async () => {
    const app = createTestSdk();
    app.server.on("DELETE", "/t", () => undefined);
    const response = await app.until(app.sdk.fetch("/t", { method: "DELETE" }));
    expect([response.status, response.body]).toEqual([204, null]);
  });

  test("its signal ends the waiting only", async () => {
    const app = createTestSdk();
    app.server.script(lose.request());
    const controller = new AbortController();
    const sending = fate(app.sdk.fetch("/t", { method: "POST", body: "x", signal: controller.signal }));
    await app.advance(0);
    controller.abort("gone");
    expect(await app.until(sending, 0)).toBe("gone");
    await app.advance("1m");
    expect(app.server.effects).toHaveLength(1);
  });

  test("its credentials are not kept, and its records are delivered and pruned", async () => {
    const app = createTestSdk({ keepFor: "1d" });
    const headers = { authorization: "Bearer SENTINEL" };
    await app.until(app.sdk.fetch("/t", { method: "POST", body: "x", headers }));
    expect(app.server.calls[0]?.headers.get("authorization")).toBe("Bearer SENTINEL");
    const [record] = await collect(app.sdk.list());
    expect(record).toMatchObject({ name: "fetch", delivered: true });
    expect(JSON.stringify(record)).not.toContain("SENTINEL");
    app.sdk.start();
    await app.advance("2d");
    expect(await app.store.page({})).toEqual([]);
  });

  test("needs to know the retention", async () => {
    const app = createTestSdk({ retention: undefined });
    const error = await app.until(fate(app.sdk.fetch("/t", { method: "POST", body: "x" })));
    expect(error).toMatchObject({ code: "bad_option", message: expect.stringContaining("retention") });
    expect(app.server.calls).toHaveLength(0);
  });
});
