import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { createSdk, post } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import {
  captivePortal,
  conflict,
  createMockServer,
  createTestSdk,
  cut,
  duplicate,
  lose,
  opaque,
  redirect,
  type Step,
  stall,
  status,
  unprocessable,
} from "samekey/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createBrowser, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const json = { "content-type": "application/json" };
const marked = { ...json, "idempotency-status": "executed" };

function createApp(...steps: Step[]) {
  const app = createTestSdk({ operations });
  app.server.script(...steps);
  const send = () => app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
  return { app, send };
}

describe("2xx", () => {
  test("F23 cut off in the body: not settled; the same key again, and the replay settles", async () => {
    const { app, send } = createApp(cut.body(), stall());
    expect(await send()).toMatchObject({ source: "replayed", attempts: 3 });
    expect(new Set(app.server.calls.map(({ key }) => key)).size).toBe(1);
  });

  test("an attempt that is over leaves nobody on its signal: Node kept every answer that broke off", async () => {
    const signals: AbortSignal[] = [];
    const server = createMockServer();
    server.script(cut.body(), lose.response());
    const sdk = createSdk({
      name: "signals",
      baseUrl: server.baseUrl,
      owner: "single",
      retention: "24h",
      operations,
      store: memoryStore(),
      retry: { base: 0, cap: 0 },
      fetch: (input, init) => {
        if (init?.signal) signals.push(init.signal);
        return server.fetch(input, { ...init, signal: null });
      },
    });
    await sdk.operation("transfer", { amount: 1 }).send();
    expect(signals).toHaveLength(3);
    expect(signals.flatMap((signal) => getEventListeners(signal, "abort"))).toEqual([]);
    await sdk.close();
  });

  test.each([
    ["204", () => new Response(null, { status: 204 }), undefined],
    ["200 without a body", () => new Response("", { headers: json }), undefined],
    [
      "201 with text",
      () => new Response("created", { status: 201, headers: { "content-type": "text/plain" } }),
      "created",
    ],
    ["JSON of a vendor", () => new Response("[1]", { headers: { "content-type": "application/hal+json" } }), [1]],
  ])("F24 %s: succeeded", async (_, respond, data) => {
    const { app, send } = createApp();
    app.server.on("POST", "/transfers", respond);
    const result = (await send()) as { data: unknown };
    expect(result).toMatchObject({ source: "executed", attempts: 1 });
    expect(result.data).toEqual(data);
  });

  test("bytes come back as bytes", async () => {
    const { app, send } = createApp();
    app.server.on("POST", "/transfers", () => new Response(new Uint8Array([1, 2, 3])));
    const { data } = (await send()) as { data: ArrayBuffer };
    expect([...new Uint8Array(data)]).toEqual([1, 2, 3]);
  });

  test.each([
    [
      "JSON that is none, and all there is",
      () => new Response("{oops", { headers: { ...json, "content-length": "5" } }),
      "{oops",
      "the body is not JSON",
    ],
    [
      "what does not fit the schema",
      () => Response.json({ id: 7 }),
      { id: 7 },
      'declared: `transfer`, intent "a": data.id: ',
    ],
  ])(
    "F24 %s: ResultError with the raw body, on a settled operation that is not sent again",
    async (_, respond, raw, message) => {
      const result = z.object({ id: z.string() });
      const app = createTestSdk({ operations: { transfer: post<Transfer, Receipt>("/transfers", { result }) } });
      app.server.on("POST", "/transfers", respond);
      const handle = app.sdk.operation("transfer", { amount: 1 }, { intent: "a" });
      expect(await app.until(fate(handle.send()))).toMatchObject({
        name: "ResultError",
        code: "unreadable",
        message: expect.stringContaining(message),
        data: raw,
        status: 200,
        record: { state: "succeeded" },
      });
      expect(await app.until(handle.outcome())).toMatchObject({ state: "unreadable" });
      expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, { intent: "a" }).send()))).toMatchObject(
        {
          code: "unreadable",
        },
      );
      expect(app.server.calls).toHaveLength(1);
    },
  );

  test("an answer whose body the server did not keep is no data, and succeeded all the same", async () => {
    const omitted = { ...json, "idempotency-status": "replayed", "idempotency-body": "omitted" };
    const { app, send } = createApp(
      status(201, { body: '{"omitted":true}', headers: omitted }),
      status(402, { body: '{"omitted":true}', headers: omitted }),
    );
    expect(await send()).toMatchObject({
      code: "unreadable",
      message: expect.stringContaining("the server kept its answer's status, but not the body"),
      data: undefined,
      status: 201,
      record: { state: "succeeded" },
    });
    expect(await send()).toMatchObject({ code: "rejected", data: undefined, status: 402 });
    expect(app.server.calls).toHaveLength(2);
  });

  test("a schema that throws is one that does not fit", async () => {
    const result = z.string().transform((): Receipt => {
      throw new Error("a bug of the app");
    });
    const error = z.unknown().transform((): string => {
      throw new Error("a bug of the app");
    });
    const app = createTestSdk({ operations: { transfer: post("/transfers", { result, error }) } });
    app.server.on("POST", "/transfers", () => Response.json("x"));
    const send = () => app.until(fate(app.sdk.operation("transfer").send()));
    expect(await send()).toMatchObject({ code: "unreadable", data: "x" });
    app.server.script(status(402, { body: '"no"', headers: json }));
    expect(await send()).toMatchObject({ code: "rejected", data: "no" });
  });

  test("schemas give what they make of it", async () => {
    const transfer = post("/transfers", {
      body: z.object({ amount: z.number().int() }),
      result: z.object({ id: z.coerce.number() }),
      error: z.object({ reason: z.string() }),
    });
    const app = createTestSdk({ operations: { transfer } });
    const send = (amount: number) => app.until(fate(app.sdk.operation("transfer", { amount }).send()));
    expect(await send(1)).toMatchObject({ data: { id: 1 } });
    app.server.script(status(402, { body: '{"reason":"poor","more":1}', headers: json }));
    expect(await send(1)).toMatchObject({ code: "rejected", data: { reason: "poor" } });
    expect(await send(0.5)).toMatchObject({ code: "bad_option", message: expect.stringContaining("body.amount") });
    expect(app.server.calls).toHaveLength(2);
  });

  test("HTML of a captive portal: blocked, uncertain, and not the outcome", async () => {
    const { app, send } = createApp(captivePortal());
    expect(await send()).toMatchObject({
      code: "blocked",
      record: { blockedBy: "refused", uncertainSince: expect.any(Number) },
    });
    const [record] = await app.store.page({});
    await app.until(app.sdk.retry(record?.id ?? ""));
    expect(await app.until(app.sdk.attach(record?.id ?? "").send())).toMatchObject({ source: "executed" });
  });
});

describe("redirects", () => {
  test.each([301, 302, 303] as const)("F27 %i never settles and is not followed", async (code) => {
    const { app, send } = createApp(redirect("https://api.example.com/landed", { status: code }));
    expect(await send()).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(app.server.calls).toHaveLength(1);
  });

  test.each([307, 308] as const)("F27 %i to the same origin is sent on, same key and bytes", async (code) => {
    const { app, send } = createApp(redirect("/v2/transfers", { status: code }));
    const result = (await send()) as { key: string };
    expect(result).toMatchObject({ source: "executed", attempts: 1 });
    expect(app.server.calls.map(({ path, key, method }) => [path, key, method])).toEqual([
      ["/transfers", result.key, "POST"],
      ["/v2/transfers", result.key, "POST"],
    ]);
    expect(app.server.calls[1]?.text()).toBe('{"amount":1}');
  });

  test("F27 307 to another origin is blocked: neither key nor body go there", async () => {
    const { app, send } = createApp(redirect("https://elsewhere.example.com/x"));
    expect(await send()).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(app.server.calls).toHaveLength(1);
  });

  test("307 to the same origin with a user name or password is blocked: no fetch sends that", async () => {
    const { app, send } = createApp(redirect("https://ann:secret@api.example.com/v2/transfers"));
    expect(await send()).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(app.server.calls).toHaveLength(1);
  });

  test("307 through a fetch like node-fetch, whose answers are no `Response` of Node's, is sent on", async () => {
    const browser = createBrowser();
    browser.server.script(redirect("/v2/transfers"));
    const bodies: Readable[] = [];
    const sdk = browser.open({
      operations,
      fetch: async (input, init) => {
        const answer = await browser.server.fetch(input, init);
        const { status, headers } = answer;
        const bytes = await answer.arrayBuffer();
        const body = Readable.from([bodies.length === 0 ? Buffer.from("moved") : Buffer.from(bytes)]);
        bodies.push(body);
        return { status, headers, body, arrayBuffer: async () => bytes } as unknown as Response;
      },
    });
    expect(await browser.clock.until(sdk.operation("transfer", { amount: 1 }).send())).toMatchObject({ attempts: 1 });
    expect(browser.server.calls.map(({ path }) => path)).toEqual(["/transfers", "/v2/transfers"]);
    // Only then is the connection free for another request.
    expect(bodies[0]?.readableEnded).toBe(true);
  });

  test("I9 an owner who signs out between two hops: the second is not made", async () => {
    const session: { owner: string | undefined } = { owner: "ann" };
    const browser = createBrowser();
    browser.server.script(redirect("/v2/transfers"));
    const sdk = browser.open({
      operations,
      owner: () => session.owner,
      fetch: async (input, init) => {
        const response = await browser.server.fetch(input, init);
        session.owner = "bob";
        return response;
      },
    });
    const sending = fate(sdk.operation("transfer", { amount: 1 }).send({ wait: "1m" }));
    await browser.clock.until(sending);
    expect(browser.server.calls.map(({ path }) => path)).toEqual(["/transfers"]);
    const [record] = await browser.store.page({});
    expect(record).toMatchObject({ state: "pending", owner: "ann" });
    expect(record?.uncertainSince).toBeDefined();
  });

  test.each([307, 308] as const)("%i that speaks for the key is its answer, and is not followed", async (code) => {
    const headers = { location: "https://api.example.com/elsewhere", "idempotency-status": "executed" };
    const { app, send } = createApp(status(code, { headers }));
    expect(await send()).toMatchObject({ status: code, source: "executed" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("a loop of redirects ends", async () => {
    const { app, send } = createApp(redirect("/again", { times: Number.POSITIVE_INFINITY }));
    expect(await send()).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
    expect(app.server.calls.length).toBeLessThan(10);
  });

  test("behind a redirect nothing is provably unsent any more", async () => {
    const refuse: Step = {
      name: "refuse",
      times: 1,
      apply: async () => {
        throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
      },
    };
    const { app, send } = createApp(redirect("/v2/transfers"), refuse);
    expect(await send()).toMatchObject({ source: "executed", attempts: 2 });
    const [record] = await app.store.page({});
    expect(record?.uncertainSince).toBeDefined();
  });

  test("F31 what the browser hides never settles", async () => {
    const { send } = createApp(opaque());
    expect(await send()).toMatchObject({ source: "replayed", attempts: 2 });
    const hidden = createApp(opaque({ type: "opaqueredirect" }));
    expect(await hidden.send()).toMatchObject({ code: "blocked", record: { blockedBy: "redirected" } });
  });
});

describe("F36 F37 what fetch throws is judged by its code, never by its text", () => {
  const coded = (code: string, more: object = {}) => Object.assign(new Error("x"), { code, ...more });

  test.each([
    ["refused", new TypeError("x", { cause: coded("ECONNREFUSED") }), true],
    ["no such host", new TypeError("x", { cause: coded("ENOTFOUND") }), true],
    ["no connection in time", new TypeError("x", { cause: coded("UND_ERR_CONNECT_TIMEOUT") }), true],
    ["unreachable while connecting", coded("EHOSTUNREACH", { syscall: "connect" }), true],
    ["all addresses refused", new AggregateError([coded("ECONNREFUSED"), coded("ECONNREFUSED")]), true],
    ["a certificate", new TypeError("x", { cause: coded("CERT_HAS_EXPIRED") }), true],
    ["one address refused, one reset", new AggregateError([coded("ECONNREFUSED"), coded("ECONNRESET")]), false],
    ["reset", new TypeError("x", { cause: coded("ECONNRESET", { syscall: "read" }) }), false],
    ["closed by the other side", new TypeError("x", { cause: coded("UND_ERR_SOCKET") }), false],
    ["no headers in time", new TypeError("x", { cause: coded("UND_ERR_HEADERS_TIMEOUT") }), false],
    ["a browser's", new TypeError("Failed to fetch"), false],
    ["a text that tells of refusal", new TypeError("connect ECONNREFUSED 127.0.0.1:80"), false],
    ["an error of one's own", new RangeError("Load failed"), false],
    ["no error at all", "ECONNREFUSED", false],
    ["an abort that is not ours", new DOMException("x", "AbortError"), false],
  ])("%s", async (_, thrown, isUnsent) => {
    const step: Step = {
      name: "throw",
      times: 1,
      apply: async () => {
        throw thrown;
      },
    };
    const { app, send } = createApp(step);
    expect(await send()).toMatchObject({ source: "executed", attempts: 2 });
    const [record] = await app.store.page({});
    expect(record?.uncertainSince === undefined).toBe(isUnsent);
  });
});

describe("refusals", () => {
  test("I5 one that does not speak for the key, after doubt: blocked, never called refused", async () => {
    const { send } = createApp(lose.response(), status(404));
    expect(await send()).toMatchObject({ name: "PendingError", code: "blocked", record: { blockedBy: "refused" } });
  });

  test("I5 one that speaks for the key settles, whatever its status", async () => {
    const { send } = createApp(lose.request(), status(404, { headers: marked, body: "{}" }));
    expect(await send()).toMatchObject({ name: "RejectedError", code: "rejected", status: 404 });
    const speaks = createApp(lose.request(), status(503, { headers: marked, body: "{}" }));
    expect(await speaks.send()).toMatchObject({ code: "rejected", status: 503 });
  });

  test("422: every waiter is told at once; misused if nothing is uncertain, else blocked", async () => {
    const { send } = createApp(status(422, { body: '{"field":"amount"}', headers: json }));
    expect(await send()).toMatchObject({
      name: "MisuseError",
      code: "unprocessable",
      status: 422,
      data: { field: "amount" },
      record: { state: "misused" },
    });
    const doubt = createApp(lose.response(), status(422));
    expect(await doubt.send()).toMatchObject({ code: "unprocessable", record: { state: "blocked" } });
    const reused = createApp(unprocessable());
    expect(await reused.send()).toMatchObject({ code: "key_reused", status: 422 });
  });

  test("an operation may say that 422 and 409 are ordinary refusals", async () => {
    const app = createTestSdk({
      operations: { t: post<Transfer>("/t", { unprocessable: "rejected", conflict: "rejected" }) },
    });
    app.server.script(status(422), status(409));
    const send = () => app.until(fate(app.sdk.operation("t", { amount: 1 }).send()));
    expect(await send()).toMatchObject({ name: "RejectedError", status: 422 });
    expect(await send()).toMatchObject({ name: "RejectedError", status: 409 });
  });

  test("F34 F42 a duplicate delivery and a 409: waits, then the replay", async () => {
    const { app, send } = createApp();
    const slow = createTestSdk({ operations, server: { processing: "50ms" } });
    slow.server.script(duplicate());
    expect(await slow.until(slow.sdk.operation("transfer", { amount: 1 }).send())).toMatchObject({
      source: "replayed",
      attempts: 2,
    });
    expect(slow.server.effects).toHaveLength(1);
    app.server.script(conflict({ times: 3 }));
    expect(await send()).toMatchObject({ source: "executed", attempts: 4 });
  });

  test("F42 a bare 409: a patience of 60 s, then blocked", async () => {
    const { app, send } = createApp(status(409, { times: Number.POSITIVE_INFINITY }));
    const at = app.clock.now();
    expect(await send()).toMatchObject({ code: "blocked", record: { blockedBy: "refused" } });
    expect(app.clock.now() - at).toBeGreaterThanOrEqual(60_000);
  });

  test("a profile may read an answer differently; one that throws decides nothing", async () => {
    let isBroken = true;
    const app = createTestSdk({
      operations,
      profile: {
        name: "odd",
        read: ({ status: code }) => {
          if (isBroken) throw new Error("a bug of the profile");
          return code === 201 ? { kind: "refused", speaks: true } : undefined;
        },
      },
    });
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance("2s");
    isBroken = false;
    expect(await app.until(sending)).toMatchObject({ code: "rejected", status: 201 });
  });

  test.each<[string, () => unknown]>([
    ["a promise", async () => undefined],
    ["a word", () => "succeeded"],
    ["a kind that there is not", () => ({ kind: "won" })],
    ["a wait that is none", () => ({ kind: "retry", certain: true, after: Number.NaN })],
  ])("I4 a profile that answers with %s decides nothing, and the operation stays", async (_, answer) => {
    let isBroken = true;
    const read = (): undefined => (isBroken ? (answer() as undefined) : undefined);
    const app = createTestSdk({ operations, profile: { name: "odd", read } });
    const sending = app.sdk.operation("transfer", { amount: 1 }).send();
    await app.advance("2s");
    expect(await app.sdk.counts()).toEqual({ pending: 1 });
    isBroken = false;
    expect(await app.until(sending)).toMatchObject({ source: "replayed" });
  });
});
