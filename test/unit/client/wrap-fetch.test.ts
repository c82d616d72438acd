import { type WrapFetchOptions, wrapFetch } from "samekey";
import { square as squareProfile } from "samekey/profiles";
import { memoryStore } from "samekey/stores/memory";
import { createTestSdk, lose, status, unprocessable } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { collect, fate } from "./kit.js";

const API = "https://api.example.com";

function open(options: Partial<WrapFetchOptions> = {}) {
  const { clock, server } = createTestSdk();
  const passed: unknown[][] = [];
  const store = memoryStore();
  const plain = (async (input: never, init: never) => {
    passed.push([input, init]);
    return server.fetch(input, init);
  }) as typeof fetch;
  const wrap = (more: Partial<WrapFetchOptions> = {}) =>
    wrapFetch(plain, {
      name: "w",
      owner: "single",
      retention: "24h",
      only: `${API}/v1`,
      store,
      clock,
      ...options,
      ...more,
    });
  return { wrap, wrapped: wrap(), passed, server, clock };
}

const post = { method: "POST", body: "a" };

describe("wrapFetch", () => {
  test("records, keys and retries the writes that it covers", async () => {
    const { wrapped, server, clock } = open();
    server.script(status(503), lose.response());
    const response = await clock.until(wrapped(`${API}/v1/charges`, post));
    expect(response.status).toBe(201);
    expect(server.calls).toHaveLength(3);
    expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
    expect(server.effects).toHaveLength(1);
    expect(await wrapped.sdk.counts()).toEqual({ succeeded: 1 });
  });

  test.each([
    ["a read", `${API}/v1/charges`, { method: "GET" }],
    ["a path that is not named", `${API}/v2/charges`, post],
    ["a path that only begins alike", `${API}/v1charges`, post],
    ["another origin", "https://other.example.org/v1", post],
    ["an event stream", `${API}/v1/stream`, { ...post, headers: { Accept: "text/event-stream" } }],
  ])("%s passes through untouched", async (_, url, init) => {
    const { wrapped, passed, server, clock } = open();
    await clock.until(fate(wrapped(url, init)));
    expect(passed).toHaveLength(1);
    expect(passed[0]?.[0]).toBe(url);
    expect(passed[0]?.[1]).toBe(init);
    expect(server.calls.filter(({ key }) => key)).toEqual([]);
    expect(await wrapped.sdk.counts()).toEqual({});
  });

  test("a write that may also be answered by an event stream is a write: GraphQL clients send that with everything", async () => {
    const { wrapped, server, clock } = open();
    server.script(lose.response());
    const headers = {
      accept: "application/graphql-response+json, application/json, text/event-stream, multipart/mixed",
    };
    await clock.until(wrapped(`${API}/v1/graphql`, { ...post, headers }));
    expect(server.calls.map(({ key, headers }) => [key !== undefined, headers.get("accept")])).toEqual([
      [true, headers.accept],
      [true, headers.accept],
    ]);
  });

  test("a Request or a stream that passes through is not read", async () => {
    const { wrapped, passed } = open({ only: () => false });
    const request = new Request(`${API}/v1`, { method: "POST", body: "a" });
    const body = new ReadableStream();
    await fate(wrapped(request));
    void fate(wrapped(`${API}/v1`, { method: "POST", body, duplex: "half" } as RequestInit));
    expect(passed[0]?.[0]).toBe(request);
    expect(passed[1]?.[1]).toHaveProperty("body", body);
  });

  test("what is no URL is the platform's to refuse", async () => {
    const { wrapped } = open();
    await expect(wrapped("/relative", post)).rejects.toThrow(TypeError);
  });

  test("`only` as a function sees the write, so that reads over POST can be told", async () => {
    const isWrite = (body: unknown) => typeof body === "string" && /\bmutation\b/.test(body);
    const { wrapped, server, clock } = open({
      only: ({ url, method, headers, body }) => {
        expect([method, headers.get("x-a")]).toEqual(["POST", "1"]);
        return url.pathname === "/graphql" && isWrite(body);
      },
    });
    const headers = [["X-A", "1"]] as [string, string][];
    for (const query of ["query { a }", "mutation { a }"]) {
      await clock.until(
        wrapped(new URL(`${API}/graphql`), { method: "POST", headers, body: JSON.stringify({ query }) }),
      );
    }
    expect(server.calls.map(({ key }) => key !== undefined)).toEqual([false, true]);
  });

  test("`only` that answers neither true nor false is refused, at once or later", async () => {
    for (const only of [() => "yes", async () => undefined]) {
      const { wrapped, passed } = open({ only: only as never });
      expect(await fate(wrapped(`${API}/v1`, post))).toMatchObject({ code: "bad_option" });
      expect(passed).toEqual([]);
    }
  });

  test("paths are below `baseUrl`, to whose origin alone `headers` goes", async () => {
    const headers = () => ({ authorization: "Bearer t" });
    const { wrapped, passed, clock } = open({
      baseUrl: `${API}/v1`,
      only: ["/charges", "https://b.example.org/x"],
      headers,
    });
    for (const url of [`${API}/v1/charges/1`, "https://b.example.org/x"])
      await clock.until(fate(wrapped(url, { ...post, deadline: "1m" })));
    const sent = passed.map(([, init]) => new Headers((init as RequestInit).headers));
    expect(sent.slice(0, 2).map((one) => [one.has("idempotency-key"), one.get("authorization")])).toEqual([
      [true, "Bearer t"],
      [true, null],
    ]);
  });

  test("a profile alone covers every write, and one that does not deduplicate is retried only while unsent", async () => {
    const profile = { name: "p", dedupes: false, header: "X-Once" };
    const { wrapped, server, clock } = open({ only: undefined, profile });
    server.script(lose.response());
    expect(await clock.until(fate(wrapped(`${API}/any`, post)))).toMatchObject({ name: "UnknownOutcomeError" });
    expect(server.calls.map(({ headers }) => headers.has("x-once"))).toEqual([true]);
  });

  test.each([
    ["neither `only` nor a profile", { only: undefined }, "`only` or a profile is missing"],
    ["no retention", { retention: undefined }, "`retention` or a profile is missing"],
    ["`headers` without `baseUrl`", { headers: () => ({}) }, "`headers` needs `baseUrl`"],
    ["a path without `baseUrl`", { only: "/v1" }, "`baseUrl` is missing"],
    ["an empty list", { only: [] }, "`only`"],
    ["operations", { operations: {} }, "`operations` is not an option of wrapFetch"],
    ["no name", { name: "" }, "`name`"],
    ["an intent that is no function", { intent: "a" }, "`intent` is not a function"],
  ])("%s is refused at once", (_, options, told) => {
    expect(() => open(options as never)).toThrow(told);
  });
});

describe("keys", () => {
  const shapes = (key: string) => [
    new Headers({ "Idempotency-Key": key }),
    [["IDEMPOTENCY-KEY", key]] as [string, string][],
    { "idempotency-key": `"${key}"` },
  ];

  test("a key on the request, in any shape of headers, is the operation's; the same bytes join it", async () => {
    const { wrapped, server, clock } = open();
    const sending = shapes("k-1").map((headers) => wrapped(`${API}/v1`, { ...post, headers }));
    sending.push(wrapped(new Request(`${API}/v1`, { ...post, headers: { "idempotency-key": "k-1" } })));
    for (const response of await clock.until(Promise.all(sending))) expect(await response.json()).toEqual({ id: "1" });
    expect(server.calls.map(({ key }) => key)).toEqual(["k-1"]);
    expect(await collect(wrapped.sdk.list())).toHaveLength(1);
  });

  test("the same form under the same key joins it, after a restart too", async () => {
    const { wrap, wrapped, server, clock } = open();
    const send = (fetch: typeof wrapped) => {
      const body = new FormData();
      body.append("a", new Blob(["x"]));
      return clock.until(fetch(`${API}/v1`, { method: "POST", body, headers: { "idempotency-key": "k" } }));
    };
    await send(wrapped);
    expect((await send(wrap())).status).toBe(201);
    expect(server.calls).toHaveLength(1);
  });

  test("other bytes under the same key are refused before the network", async () => {
    const { wrapped, server, clock } = open();
    const headers = { "idempotency-key": "k-1" };
    await clock.until(wrapped(`${API}/v1`, { ...post, headers }));
    const error = await clock.until(fate(wrapped(`${API}/v1`, { method: "POST", body: "b", headers })));
    expect(error).toMatchObject({ name: "MisuseError", code: "key_reused" });
    expect(server.calls).toHaveLength(1);
  });

  test("with an intent, a caller that mints a key per call has one key and one attempt in flight", async () => {
    const { wrapped, server, clock } = open({ intent: ({ url, body }) => `${url.pathname} ${body}` });
    server.script(lose.response());
    const send = (n: number) => wrapped(`${API}/v1/a`, { ...post, headers: { "idempotency-key": `mine-${n}` } });
    const answers = await clock.until(Promise.all([send(1), send(2), send(3)]));
    expect(answers.map(({ status: code }) => code)).toEqual([201, 201, 201]);
    expect(server.calls).toHaveLength(2);
    expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
    expect(server.calls[0]?.key).not.toMatch(/^mine/);
  });

  test.each([
    ["a key", { "idempotency-key": "order-1" }, {}, "key_reused"],
    ["an intent", {}, { intent: "order-1" }, "intent_mismatch"],
  ])("%s stands for one account alone: the same for another one is refused, not joined", async (_, key, call, code) => {
    const { wrapped, server, clock } = open({ keepHeaders: ["stripe-account", "stripe-version"] });
    const send = (account: string, version: string) => {
      const headers = { ...key, "stripe-account": account, "stripe-version": version };
      return clock.until(fate(wrapped(`${API}/v1`, { ...post, ...call, headers })));
    };
    expect(await send("a", "1")).toMatchObject({ status: 201 });
    expect(await send("b", "1")).toMatchObject({ code, fields: ["headers.stripe-account"] });
    expect(await send("a", "2"), "after a deploy").toMatchObject({ status: 201 });
    expect(server.calls).toHaveLength(1);
  });

  test.each(["undefined", "null", "NaN"])("a key %s is a variable that was not set", async (key) => {
    const { wrapped, server, clock } = open();
    const sending = fate(wrapped(`${API}/v1`, { ...post, headers: { "idempotency-key": key } }));
    expect(await clock.until(sending)).toMatchObject({ code: "bad_option", message: expect.stringContaining(key) });
    expect(server.calls).toHaveLength(0);
  });

  test("an intent of the call goes before the option's", async () => {
    const { wrapped, clock } = open({ intent: () => "all" });
    await clock.until(wrapped(`${API}/v1/a`, { ...post, intent: "mine" }));
    const [record] = await collect(wrapped.sdk.list());
    expect(record?.intent).toBe("mine");
  });
});

describe("over a restart", () => {
  test("what a resumed call cannot supply again blocks it; what is kept or supplied does not", async () => {
    const headers = { authorization: "Bearer t", "stripe-account": "acct" };
    const { wrap, wrapped, server, clock } = open({ keepHeaders: ["stripe-account"], baseUrl: API });
    server.script(status(503));
    void fate(wrapped(`${API}/v1`, { ...post, headers }));
    await clock.advance(0);
    await clock.until(wrapped.sdk.close({ timeout: 0 }));
    const bare = wrap();
    await clock.until(bare.sdk.resume());
    expect(await collect(bare.sdk.list())).toMatchObject([{ state: "blocked", blockedBy: "headers" }]);
    expect(server.calls).toHaveLength(1);
    await clock.until(bare.sdk.close());
    const able = wrap({ headers: () => ({ authorization: "Bearer new" }) });
    const [record] = await collect(able.sdk.list());
    await able.sdk.retry(record?.id ?? "");
    await clock.until(able.sdk.resume());
    expect(server.calls.at(-1)?.headers.get("authorization")).toBe("Bearer new");
    expect(server.calls.at(-1)?.headers.get("stripe-account")).toBe("acct");
    expect(await able.sdk.counts()).toEqual({ succeeded: 1 });
  });

  test("the same call again brings them back and is answered", async () => {
    const { wrap, wrapped, server, clock } = open();
    const send = (fetch: typeof wrapped) =>
      fetch(`${API}/v1`, { ...post, intent: "i", headers: { authorization: "Bearer t" } });
    server.script(status(503));
    void fate(send(wrapped));
    await clock.advance(0);
    await clock.until(wrapped.sdk.close({ timeout: 0 }));
    const next = wrap();
    await clock.until(next.sdk.resume());
    expect(await next.sdk.counts()).toEqual({ blocked: 1 });
    expect((await clock.until(send(next))).status).toBe(201);
    expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
  });

  test("`settled` is told of what an earlier run left", async () => {
    const told: string[] = [];
    const { wrap, wrapped, server, clock } = open();
    server.script(status(503));
    void fate(wrapped(`${API}/v1`, post));
    await clock.advance(0);
    await clock.until(wrapped.sdk.close({ timeout: 0 }));
    const next = wrap({ settled: (record) => told.push(record.state) });
    await clock.until(next.sdk.resume());
    expect(told).toEqual(["succeeded"]);
  });
});

describe("a 422", () => {
  test("raises `misused`, with its status, headers and data", async () => {
    const { wrapped, server, clock } = open();
    server.script(unprocessable());
    const error = await clock.until(fate(wrapped(`${API}/v1`, post)));
    expect(error).toMatchObject({ name: "MisuseError", code: "key_reused", status: 422 });
  });

  test("of a form validation is a Response where the API is said to mean that", async () => {
    const { wrapped, server, clock } = open({ unprocessable: "rejected" });
    server.script(status(422, { body: '{"message":"too short"}', headers: { "content-type": "application/json" } }));
    const response = await clock.until(wrapped(`${API}/v1`, post));
    expect([response.status, await response.json()]).toEqual([422, { message: "too short" }]);
    server.script(unprocessable());
    expect(await clock.until(fate(wrapped(`${API}/v1`, post)))).toMatchObject({ code: "key_reused" });
  });
});

describe("a key that a library writes into the body", () => {
  const body = '{ "amount": 1.50, "idempotency_key": "k-1" }';
  const square = { profile: squareProfile, only: undefined, baseUrl: API };
  const url = `${API}/v2/payments`;

  test("is the operation's, and every attempt sends the body as it was written", async () => {
    const { wrap, server, clock } = open();
    const wrapped = wrap(square);
    server.on("POST", "/v2/payments", () => ({ ok: true }), { keyed: false });
    server.script(lose.response());
    const call = (): Promise<Response> => wrapped(url, { method: "POST", body });
    expect((await clock.until(Promise.all([call(), call()]))).map(({ status }) => status)).toEqual([201, 201]);
    expect(server.calls.map((seen) => seen.text())).toEqual([body, body]);
    const [record] = await collect(wrapped.sdk.list());
    expect(record).toMatchObject({ key: "k-1", attempts: 2 });
    const other = await clock.until(fate(wrapped(url, { method: "POST", body: body.replace("1.50", "2") })));
    expect(other).toMatchObject({ code: "key_reused" });
    expect(server.calls).toHaveLength(2);
  });

  test("cannot stand beside an intent, whose key would be another", async () => {
    const { wrap, server, clock } = open();
    const outcome = await clock.until(fate(wrap(square)(url, { method: "POST", body, intent: "order-1" })));
    expect(outcome).toMatchObject({ code: "bad_option", message: expect.stringContaining("idempotency_key") });
    expect(server.calls).toEqual([]);
  });

  test("has to be a key", async () => {
    const { wrap, clock } = open();
    const odd = JSON.stringify({ idempotency_key: 7 });
    expect(await clock.until(fate(wrap(square)(url, { method: "POST", body: odd })))).toMatchObject({
      code: "bad_option",
    });
  });
});
