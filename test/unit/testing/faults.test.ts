import {
  captivePortal,
  conflict,
  createMockServer,
  createVirtualClock,
  cut,
  delay,
  duplicate,
  type Fault,
  late,
  lose,
  type MockServer,
  opaque,
  redirect,
  stall,
  status,
  unauthorized,
  unprocessable,
  unreachable,
  type VirtualClock,
} from "samekey/testing";
import { beforeEach, describe, expect, test } from "vitest";

let clock: VirtualClock;
let server: MockServer;

beforeEach(() => {
  clock = createVirtualClock({ start: 0 });
  server = createMockServer({ clock, processing: 10 });
});

function pay(init: RequestInit = {}): Promise<Response> {
  const headers = { "idempotency-key": "k", "content-type": "application/json" };
  return clock.until(server.fetch("/transfers", { method: "POST", headers, body: '{"amount":1}', ...init }));
}

/** Calls made, requests arrived, effects. */
function counts(): number[] {
  return [server.calls.length, server.requests.length, server.effects.length];
}

const mark = (response: Response) => response.headers.get("idempotency-status");

describe("lost on the way", () => {
  test("lose.request: the server never sees it", async () => {
    server.script(lose.request());
    await expect(pay()).rejects.toThrow(new TypeError("Failed to fetch"));
    expect(counts()).toEqual([1, 0, 0]);
    expect(mark(await pay())).toBe("executed");
  });

  test("lose.response: done, and the client does not know", async () => {
    server.script(lose.response());
    await expect(pay()).rejects.toThrow(new TypeError("Failed to fetch"));
    expect(counts()).toEqual([1, 1, 1]);
    expect(mark(await pay())).toBe("replayed");
    expect(counts()).toEqual([2, 2, 1]);
  });

  test("late: the client sees an error now, the server the request later", async () => {
    server.script(late("40s"));
    await expect(pay()).rejects.toThrow(TypeError);
    await clock.advance("39s");
    expect(counts()).toEqual([1, 0, 0]);
    await clock.advance("2s");
    expect(counts()).toEqual([1, 1, 1]);
  });

  test.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"] as const)("unreachable: provably not sent, %s", async (code) => {
    server.script(unreachable({ code }));
    await expect(pay()).rejects.toMatchObject({ name: "TypeError", cause: { code } });
    expect(counts()).toEqual([1, 0, 0]);
  });
});

describe("broken bodies", () => {
  test("cut.body: headers and half of the bytes, then an error", async () => {
    server.script(cut.body());
    const response = await pay();
    expect([response.status, mark(response)]).toEqual([201, "executed"]);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe('{"id"');
    await expect(reader.read()).rejects.toThrow(new TypeError("terminated"));
    expect(await (await pay()).text()).toBe('{"id":"1"}');
    expect(server.effects).toHaveLength(1);
  });

  test("stall: the rest never comes, until the client gives up", async () => {
    server.script(stall());
    const controller = new AbortController();
    const response = await pay({ signal: controller.signal });
    const reading = response.text();
    await expect(clock.until(Promise.race([reading, clock.sleep(3_600_000)]))).resolves.toBeUndefined();
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(counts()).toEqual([1, 1, 1]);
  });

  test("an answer without a body has nothing to cut", async () => {
    server.on("POST", "/transfers", () => undefined).script(cut.body());
    expect(await (await pay()).text()).toBe("");
  });
});

describe("delay", () => {
  test("of the answer: done at once, told later", async () => {
    server.script(delay("5s"));
    const response = await pay();
    expect([mark(response), clock.now(), server.effects[0]?.at]).toEqual(["executed", 5010, 10]);
  });

  test("of the request: done later", async () => {
    server.script(delay("5s", { leg: "request" }));
    await pay();
    expect(server.effects[0]?.at).toBe(5010);
  });

  test.each([
    ["response", 1],
    ["request", 0],
  ] as const)("of the %s, and the client gives up before", async (leg, effects) => {
    server.script(delay("5s", { leg }));
    const controller = new AbortController();
    const paying = pay({ signal: controller.signal });
    clock.sleep(1000).then(() => controller.abort("enough"));
    await expect(paying).rejects.toBe("enough");
    expect(clock.now()).toBe(1000);
    await clock.advance("1m");
    expect(server.effects).toHaveLength(effects);
    expect(clock.pending).toBe(0);
  });
});

describe("answers from in front of the key", () => {
  test.each<[string, Fault, number, Record<string, string | null>, string]>([
    ["conflict", conflict(), 409, { "retry-after": "1" }, "in_progress"],
    ["conflict, later", conflict({ retryAfter: 30 }), 409, { "retry-after": "30" }, "in_progress"],
    ["conflict, bare", conflict({ retryAfter: null }), 409, { "retry-after": null }, "in_progress"],
    ["unprocessable", unprocessable(), 422, {}, "idempotency_key_reused_with_different_body"],
    ["unauthorized", unauthorized(), 401, { "www-authenticate": "Bearer" }, "unauthenticated"],
    ["status", status(503, { headers: { "retry-after": "7" } }), 503, { "retry-after": "7" }, ""],
    ["captivePortal", captivePortal(), 200, { "content-type": "text/html; charset=utf-8" }, "Sign in to this network"],
  ])("%s", async (_, fault, code, headers, text) => {
    server.script(fault);
    const response = await pay();
    expect([response.status, mark(response)]).toEqual([code, null]);
    for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value);
    expect(await response.text()).toContain(text);
    expect(counts()).toEqual([1, 0, 0]);
    expect(mark(await pay())).toBe("executed");
  });

  test("status, applied all the same", async () => {
    server.script(status(504, { applied: true }));
    expect((await pay()).status).toBe(504);
    expect(mark(await pay())).toBe("replayed");
  });

  test("redirect: as it is, followed, or an error, as the client asks", async () => {
    server.script(redirect("/elsewhere", { times: 3 }));
    const manual = await pay({ redirect: "manual" });
    expect([manual.status, manual.headers.get("location")]).toEqual([307, "/elsewhere"]);
    await expect(pay({ redirect: "error" })).rejects.toThrow(TypeError);
    expect((await pay()).status).toBe(201);
    expect(server.requests).toMatchObject([{ method: "POST", path: "/elsewhere", key: "k" }]);
    expect(server.requests[0]?.text()).toBe('{"amount":1}');
  });

  test.each(["opaque", "opaqueredirect"] as const)("%s", async (type) => {
    server.script(opaque({ type }));
    expect(await pay()).toMatchObject({ type, status: 0, ok: false, body: null });
  });
});

describe("duplicate", () => {
  test("the twin finds the first copy in progress", async () => {
    server.script(duplicate({ after: 5 }));
    expect((await pay()).status).toBe(409);
    await clock.advance(5);
    expect(mark(await pay())).toBe("replayed");
    expect(counts()).toEqual([2, 3, 1]);
  });

  test("the twin finds it done", async () => {
    server.script(duplicate({ after: 15 }));
    expect(mark(await pay())).toBe("replayed");
    expect(counts()).toEqual([1, 2, 1]);
  });
});

describe("the script", () => {
  test("runs in order, `times` at a time, and then all is well", async () => {
    server.script(conflict({ times: 3 }), unauthorized()).script(status(500));
    const seen = [];
    for (let i = 0; i < 6; i += 1) seen.push((await pay()).status);
    expect(seen).toEqual([409, 409, 409, 401, 500, 201]);
  });

  test("several faults of one request: the first is next to the client", async () => {
    server.script([delay("5s"), lose.response(), duplicate({ after: 20 })]);
    await expect(pay()).rejects.toThrow(TypeError);
    expect(clock.now()).toBe(20);
    expect(counts()).toEqual([1, 2, 1]);
  });

  test("goes by the order of the calls, and leaves reads alone", async () => {
    server.script(status(500), status(501));
    const init = { method: "POST", headers: { "idempotency-key": "k" } };
    const all = ["GET", "POST", "POST"].map((method) => server.fetch("/t", { ...init, method }));
    const responses = await clock.until(Promise.all(all));
    expect(responses.map((response) => response.status)).toEqual([404, 500, 501]);
  });

  test("calm ends an endless fault", async () => {
    server.script(status(503, { times: Number.POSITIVE_INFINITY }));
    expect([(await pay()).status, (await pay()).status]).toEqual([503, 503]);
    server.calm();
    expect((await pay()).status).toBe(201);
  });

  test("a fault of one's own", async () => {
    const teapot: Fault = { name: "teapot", times: 1, apply: async () => new Response(null, { status: 418 }) };
    server.script(teapot);
    expect((await pay()).status).toBe(418);
  });
});

describe("chaos", () => {
  async function outcomes(seed: number): Promise<string[]> {
    server = createMockServer({ clock, processing: 10 }).chaos({ seed });
    const seen: string[] = [];
    for (let i = 0; i < 60; i += 1) {
      const at = clock.now();
      const outcome = await pay().then((response) => `${response.status}`, String);
      seen.push(`${outcome} after ${clock.now() - at}`);
    }
    return seen;
  }

  test("the same for the same seed, another for another", async () => {
    const first = await outcomes(7);
    expect(await outcomes(7)).toEqual(first);
    expect(await outcomes(8)).not.toEqual(first);
    expect(new Set(first.map((outcome) => outcome.split(" ")[0])).size).toBeGreaterThan(3);
    expect(server.effects).toHaveLength(1);
  });

  test("rates are what is asked for", async () => {
    server.chaos({ seed: 1, rates: { conflict: 0.25 } });
    const seen = [];
    for (let i = 0; i < 400; i += 1) seen.push((await pay()).status);
    expect(seen.filter((code) => code === 409).length).toBeGreaterThan(70);
    expect(seen.filter((code) => code === 409).length).toBeLessThan(130);
    expect(seen.filter((code) => code !== 409 && code !== 201)).toEqual([]);
    server.chaos({ seed: 1, rates: { loseRequest: 1 } });
    await expect(pay()).rejects.toThrow(TypeError);
  });

  test("gives way to the script", async () => {
    server.chaos({ seed: 1, rates: { unavailable: 1 } }).script(unauthorized());
    expect([(await pay()).status, (await pay()).status]).toEqual([401, 503]);
  });
});
