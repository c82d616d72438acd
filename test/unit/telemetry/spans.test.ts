import * as api from "@opentelemetry/api";
import { InMemorySpanExporter } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSdk, post } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { type OpenTelemetryOptions, openTelemetry } from "../../../src/telemetry.js";
import { createTestSdk, lose, status, unauthorized, unreachable } from "../../../src/testing/index.js";
import { startTracing, type Told, told } from "../../support/tracing.js";

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers?token=secret#part") };

let exporter: InMemorySpanExporter;
let stop: () => void;

beforeEach(() => {
  exporter = new InMemorySpanExporter();
  stop = startTracing(exporter);
});
afterEach(() => stop());

const spans = (): Told[] => exporter.getFinishedSpans().map(told);
const create = (options?: OpenTelemetryOptions) =>
  createTestSdk({ operations, retry: { attempts: 5 }, telemetry: openTelemetry(api, options) });

/** An Sdk over a server that gives these answers, and 201 from then on; with secrets wherever there is room for one. */
function over(
  answers: readonly number[],
  options?: OpenTelemetryOptions,
  path = "/transfers?token=query-sentinel#fragment",
) {
  const asked: { readonly url: string; readonly headers: Record<string, string>; readonly body: string }[] = [];
  const sdk = createSdk({
    name: "spans",
    baseUrl: "https://bank.example",
    owner: () => "owner-sentinel",
    retention: "24h",
    retry: { base: 1, cap: 1 },
    store: memoryStore(),
    headers: () => ({ authorization: "Bearer credential-sentinel" }),
    fetch: async (url, init) => {
      const { headers, body } = init ?? {};
      const sent = Object.fromEntries(new Headers(headers));
      asked.push({ url: String(url), headers: sent, body: new TextDecoder().decode(body as ArrayBuffer) });
      const status = answers[asked.length - 1] ?? 201;
      return Response.json({ answer: "answer-sentinel" }, { status });
    },
    operations: { transfer: post<{ note: string }>(path, { intent: "optional" }) },
    telemetry: openTelemetry(api, options),
  });
  return { sdk, asked };
}

describe("the spans of openTelemetry", () => {
  it("are one for the call and one for each attempt, with what HTTP conventions tell", async () => {
    const app = create();
    app.server.script(status(503), lose.response());
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    const [first, second, third, call] = spans();
    expect(spans()).toHaveLength(4);
    expect(call).toMatchObject({
      name: "send transfer",
      kind: "INTERNAL",
      parent: undefined,
      links: [],
      status: "UNSET",
      attributes: {
        "samekey.operation": "transfer",
        "samekey.id": id,
        "samekey.state": "succeeded",
        "samekey.attempts": 3,
        "samekey.source": "replayed",
      },
    });
    const { origin, hostname } = new URL(app.server.baseUrl);
    const common = {
      "http.request.method": "POST",
      "url.full": `${origin}/transfers`,
      "server.address": hostname,
      "samekey.operation": "transfer",
      "samekey.id": id,
    };
    for (const attempt of [first, second, third]) {
      expect(attempt).toMatchObject({
        name: "POST",
        kind: "CLIENT",
        parent: call?.spanId,
        traceId: call?.traceId,
        links: [],
      });
      expect(attempt?.attributes).toMatchObject(common);
    }
    expect(first).toMatchObject({
      status: "ERROR",
      attributes: { "http.response.status_code": 503, "error.type": "503", "samekey.verdict": "retry" },
    });
    expect(first?.attributes).not.toHaveProperty("http.request.resend_count");
    expect(second).toMatchObject({
      status: "ERROR",
      attributes: { "http.request.resend_count": 1, "error.type": expect.any(String) },
    });
    expect(second?.attributes).not.toHaveProperty("http.response.status_code");
    expect(third).toMatchObject({
      status: "UNSET",
      attributes: {
        "http.request.resend_count": 2,
        "http.response.status_code": 201,
        "samekey.verdict": "succeeded",
        "samekey.replayed": true,
      },
    });
    expect(third?.attributes).not.toHaveProperty("error.type");
  });

  it("hang below the span that is active where the program calls, and headers() and fetch run within the attempt's", async () => {
    const within: (string | undefined)[] = [];
    const app = createTestSdk({
      operations,
      telemetry: openTelemetry(api),
      headers: async () => {
        await Promise.resolve();
        within.push(api.trace.getActiveSpan()?.spanContext().spanId);
        return { authorization: "Bearer secret" };
      },
    });
    const tracer = api.trace.getTracer("program");
    await tracer.startActiveSpan("request", async (span) => {
      await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
      span.end();
    });
    const [attempt, call, request] = spans();
    expect(call?.parent).toBe(request?.spanId);
    expect(attempt?.parent).toBe(call?.spanId);
    expect(within).toEqual([attempt?.spanId]);
  });

  it("link an attempt after a restart to the call that recorded it, in a trace of its own", async () => {
    const app = create();
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    const [save] = spans();
    expect(save).toMatchObject({ name: "save transfer", status: "UNSET", attributes: { "samekey.state": "pending" } });
    await app.reload();
    exporter.reset();
    // Whatever is active where it is resumed has no part in it.
    const tracer = api.trace.getTracer("program");
    await tracer.startActiveSpan("boot", async () => app.until(app.sdk.resume()));
    const [attempt] = spans();
    expect(attempt).toMatchObject({
      kind: "CLIENT",
      parent: undefined,
      links: [`${save?.traceId}-${save?.spanId}`],
      attributes: { "samekey.id": id },
    });
    expect(attempt?.traceId).not.toBe(save?.traceId);
  });

  it("tell of a call that meets an earlier operation, and of its attempts, that another recorded it", async () => {
    const app = create();
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    const [save] = spans();
    await app.reload();
    exporter.reset();
    await app.until(app.sdk.attach(id).send());
    const [attempt, call] = spans();
    const links = [`${save?.traceId}-${save?.spanId}`];
    expect(call).toMatchObject({ name: "send transfer", links });
    expect(attempt).toMatchObject({ parent: call?.spanId, links });
  });

  it("stand alone, and link back, once nobody waits any more", async () => {
    const app = create();
    app.server.script(status(503));
    const waiting = app.sdk.operation("transfer", { amount: 1 }).send({ wait: 1 });
    await expect(app.until(waiting)).rejects.toMatchObject({ code: "pending" });
    await vi.waitFor(async () => {
      await app.advance("1m");
      expect(spans()).toHaveLength(3);
    });
    const call = spans().find(({ name }) => name === "send transfer");
    expect(call).toMatchObject({
      status: "ERROR",
      attributes: { "error.type": "pending", "samekey.state": "pending" },
    });
    const last = spans().at(-1);
    expect(last).toMatchObject({ parent: undefined, links: [`${call?.traceId}-${call?.spanId}`] });
  });

  it.each([
    ["unauthorized", [unauthorized()], "blocked", "credentials", "401"],
    ["refused", [status(400)], "rejected", "rejected", "400"],
    ["out of attempts", Array.from({ length: 5 }, () => unreachable()), "expired", "expired", expect.any(String)],
  ])("have the status of what became of it: %s", async (_, steps, state, error, ofAttempt) => {
    const app = create();
    app.server.script(...steps);
    await expect(app.until(app.sdk.operation("transfer", { amount: 1 }).send())).rejects.toThrow();
    const call = spans().find(({ name }) => name === "send transfer");
    expect(call).toMatchObject({ status: "ERROR", attributes: { "samekey.state": state, "error.type": error } });
    expect(spans()[0]).toMatchObject({ status: "ERROR", attributes: { "error.type": ofAttempt } });
  });

  it("call what the program withdrew no failure", async () => {
    const app = create();
    app.offline(true);
    const handle = app.sdk.operation("transfer", { amount: 1 });
    const sending = handle.send();
    sending.catch(() => {});
    await app.until(handle.save());
    await app.until(handle.cancel());
    await expect(app.until(sending)).rejects.toMatchObject({ code: "canceled" });
    const call = spans().find(({ name }) => name === "send transfer");
    expect(call).toMatchObject({ status: "UNSET", attributes: { "samekey.state": "canceled" } });
  });

  it("record no message, no exception and no secret", async () => {
    const { sdk, asked } = over([503, 422], { propagateTo: [] });
    const call = { intent: "intent-sentinel", key: "key-sentinel" };
    await expect(sdk.operation("transfer", { note: "body-sentinel" }, call).send()).rejects.toThrow();
    // It was all there to be told.
    for (const what of ["credential", "body", "query", "key"])
      expect(JSON.stringify(asked)).toContain(`${what}-sentinel`);
    expect(spans()).toHaveLength(3);
    expect(JSON.stringify(spans())).not.toContain("sentinel");
    for (const { events, message } of spans()) expect([events, message]).toEqual([0, undefined]);
    await sdk.close();
  });
});

describe("propagation", () => {
  const sent = async (...given: Parameters<typeof over>): Promise<(string | undefined)[]> => {
    const { sdk, asked } = over(...given);
    await sdk.operation("transfer", { note: "" }).send();
    await sdk.close();
    return asked.map(({ headers }) => headers["traceparent"]);
  };
  const elsewhere = "https://elsewhere.example/transfers";

  it("sends a traceparent of its own with each attempt to baseUrl's origin", async () => {
    const headers = await sent([503]);
    const attempts = spans().filter(({ kind }) => kind === "CLIENT");
    expect(headers).toEqual(attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
    expect(new Set(headers).size).toBe(2);
  });

  it("sends none to another origin, unless it is named, and to the named ones alone then", async () => {
    const named = { propagateTo: ["https://elsewhere.example/v1"] };
    expect(await sent([], {}, elsewhere)).toEqual([undefined]);
    expect(await sent([], named, elsewhere)).toEqual([expect.stringMatching(/^00-/)]);
    expect(await sent([], named)).toEqual([undefined]);
  });

  it("is turned off by naming none", async () => {
    expect(await sent([], { propagateTo: [] })).toEqual([undefined]);
    expect(await sent([], { traces: false })).toEqual([undefined]);
  });

  it("leaves a header of the program's alone", async () => {
    const { sdk, asked } = over([]);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await sdk.operation("transfer", { note: "" }, { headers: { traceparent } }).send();
    expect(asked.map(({ headers }) => headers["traceparent"])).toEqual([traceparent]);
    await sdk.close();
  });

  it("keeps to the page's own origin in a page: CORS may refuse the header elsewhere, and the request with it", async () => {
    try {
      vi.stubGlobal("location", { origin: "https://shop.example" });
      expect(await sent([])).toEqual([undefined]);
      vi.stubGlobal("location", { origin: "https://bank.example" });
      expect(await sent([])).toEqual([expect.stringMatching(/^00-/)]);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe("openTelemetry", () => {
  it.each([
    ["trace.getTracer", {}],
    ["trace.getTracer", undefined],
    ["ROOT_CONTEXT", { ...api.default }],
    ["metrics.getMeter", { ...api, metrics: undefined }],
  ])("says what is missing where it is not given the module: %s", (missing, given) => {
    expect(() => openTelemetry(given as typeof api)).toThrow(
      expect.objectContaining({
        code: "bad_option",
        message: expect.stringMatching(`no \`${missing}\`: import \\* as api from "@opentelemetry/api"`),
      }),
    );
  });

  it.each([
    [{ trace: true }, /`trace` is not an option of openTelemetry/],
    [{ metrics: "yes" }, /`metrics` is not true or false/],
    [{ propagateTo: "https://a.example" }, /`propagateTo` is no list/],
    [{ propagateTo: ["a.example"] }, /`propagateTo` holds "a.example"/],
  ])("refuses %o", (options, message) => {
    expect(() => openTelemetry(api, options as OpenTelemetryOptions)).toThrow(message);
  });

  it("does what it does without providers: nothing", async () => {
    stop();
    const { sdk, asked } = over([503]);
    const { id } = await sdk.operation("transfer", { note: "" }).send();
    expect(asked.map(({ headers }) => headers["traceparent"])).toEqual([undefined, undefined]);
    expect((await sdk.get(id))?.traceparent).toBeUndefined();
    await sdk.close();
  });

  it("touches no operation, whatever of it throws", async () => {
    const fault = (): never => {
      throw new Error("telemetry is broken");
    };
    const log = vi.fn();
    const faulty = { startSpan: fault } as unknown as api.Tracer;
    for (const broken of [
      { ...api, trace: { ...api.trace, getTracer: fault, setSpan: fault } },
      { ...api, trace: { ...api.trace, getTracer: () => faulty, setSpan: fault } },
      { ...api, trace: api.trace, propagation: { inject: fault } },
      { ...api, trace: api.trace, context: { active: fault, with: fault } },
    ]) {
      const app = createTestSdk({ operations, log, telemetry: openTelemetry(broken as unknown as typeof api) });
      app.server.script(status(503));
      expect(await app.until(app.sdk.operation("transfer", { amount: 1 }).send())).toMatchObject({ attempts: 2 });
      expect(app.server.effects).toHaveLength(1);
      expect(log).toHaveBeenCalledWith(expect.objectContaining({ message: "telemetry failed" }));
      log.mockClear();
    }
  });

  it("touches no operation when an exporter throws", async () => {
    stop();
    const exporter = {
      export: vi.fn(() => {
        throw new Error("exporter is broken");
      }),
      shutdown: async () => {},
    };
    stop = startTracing(exporter);
    const app = create();
    app.server.script(status(503));
    expect(await app.until(app.sdk.operation("transfer", { amount: 1 }).send())).toMatchObject({ attempts: 2 });
    expect(exporter.export).toHaveBeenCalled();
  });
});
