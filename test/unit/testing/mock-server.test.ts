import { createMockServer, createVirtualClock } from "samekey/testing";
import { describe, expect, test } from "vitest";

const url = "https://api.example.com/transfers";

function request(key: string | undefined, body = '{"amount":1}', init: RequestInit = {}): RequestInit {
  const headers = { "content-type": "application/json", ...(key && { "idempotency-key": key }) };
  return { method: "POST", headers, body, ...init };
}

async function problemOf(response: Response): Promise<unknown[]> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.has("idempotency-status")).toBe(false);
  return [response.status, (await response.json()).error];
}

describe("the contract", () => {
  test("a new key is executed, a known one replayed byte for byte", async () => {
    const bytes = Uint8Array.from([0, 255, 128, 10, 13]);
    const headers = { "content-type": "image/x-odd", location: "/t/1", "set-cookie": "a=b", "x-request-id": "1" };
    const server = createMockServer().on("POST", "/transfers", () => new Response(bytes, { status: 202, headers }));
    const first = await server.fetch(url, request("k"));
    const again = await server.fetch(url, request("k"));
    for (const response of [first, again]) {
      expect(response.status).toBe(202);
      expect(response.headers.get("content-type")).toBe("image/x-odd");
      expect(response.headers.get("location")).toBe("/t/1");
      expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    }
    expect(first.headers.get("idempotency-status")).toBe("executed");
    expect(first.headers.has("idempotency-replayed")).toBe(false);
    expect(first.headers.get("x-request-id")).toBe("1");
    expect(again.headers.get("idempotency-status")).toBe("replayed");
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect([again.headers.has("set-cookie"), again.headers.has("x-request-id")]).toEqual([false, false]);
    expect(server.effects).toHaveLength(1);
  });

  test("bare and quoted are the same key", async () => {
    const server = createMockServer();
    await server.fetch(url, request('a"b\\c'));
    const again = await server.fetch(url, request('"a\\"b\\\\c"'));
    expect(again.headers.get("idempotency-status")).toBe("replayed");
    expect(server.requests.map(({ key }) => key)).toEqual(['a"b\\c', 'a"b\\c']);
  });

  test("a server that wants quotes refuses bare keys", async () => {
    const server = createMockServer({ quoted: true });
    expect(await problemOf(await server.fetch(url, request("k")))).toEqual([400, "idempotency_key_invalid"]);
    expect((await server.fetch(url, request('"k"'))).status).toBe(201);
  });

  test("copies at the same time: one effect, the others are told to wait", async () => {
    const clock = createVirtualClock();
    const server = createMockServer({ clock, processing: "1s" });
    const copies = Promise.all([1, 2, 3].map(() => server.fetch(url, request("k"))));
    const responses = await clock.until(copies);
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const twin = responses.find(({ status }) => status === 409) as Response;
    expect(twin.headers.get("retry-after")).toBe("1");
    expect(await problemOf(twin)).toEqual([409, "in_progress"]);
    expect((await server.fetch(url, request("k"))).headers.get("idempotency-status")).toBe("replayed");
    expect(server.effects).toHaveLength(1);
  });

  test.each([
    ["body", url, request("k", '{"amount":2}')],
    ["spelling of the body", url, request("k", '{"amount": 1}')],
    ["query", `${url}?a=1`, request("k")],
    ["path", `${url}/1`, request("k")],
    ["method", url, request("k", undefined, { method: "PUT" })],
    [
      "content type",
      url,
      request("k", undefined, { headers: { "idempotency-key": "k", "content-type": "text/plain" } }),
    ],
  ])("another %s under the same key is 422", async (_, to, init) => {
    const server = createMockServer();
    await server.fetch(url, request("k"));
    expect(await problemOf(await server.fetch(to, init))).toEqual([422, "idempotency_key_reused_with_different_body"]);
    expect(server.effects).toHaveLength(1);
  });

  test.each([
    [undefined, "idempotency_key_missing"],
    ["a b", "idempotency_key_invalid"],
    ["a, a", "idempotency_key_invalid"],
    ['"open', "idempotency_key_invalid"],
    ["x".repeat(256), "idempotency_key_invalid"],
  ])("the key %s is 400", async (key, error) => {
    const server = createMockServer();
    expect(await problemOf(await server.fetch(url, request(key)))).toEqual([400, error]);
    expect(server.effects).toHaveLength(0);
  });

  test("a key past its window is 410, and so is a v7 key that was minted too long ago", async () => {
    const clock = createVirtualClock({ start: Date.UTC(2026, 0, 1) });
    const server = createMockServer({ clock, retention: "24h" });
    await server.fetch(url, request("k"));
    await clock.advance("24h");
    expect((await server.fetch(url, request("k"))).status).toBe(201);
    await clock.advance(1);
    expect(await problemOf(await server.fetch(url, request("k")))).toEqual([410, "idempotency_key_expired"]);
    const old = v7(Date.UTC(2025, 11, 31));
    expect(await problemOf(await server.fetch(url, request(old)))).toEqual([410, "idempotency_key_expired"]);
    expect((await server.fetch(url, request(v7(Date.UTC(2026, 0, 1))))).status).toBe(201);
    expect(server.effects).toHaveLength(2);
  });

  test("a v7 key from far ahead is 400", async () => {
    const server = createMockServer({ clock: createVirtualClock({ start: Date.UTC(2026, 0, 1) }) });
    expect(await problemOf(await server.fetch(url, request(v7(Date.UTC(2026, 0, 5)))))).toEqual([
      400,
      "idempotency_key_time",
    ]);
    expect((await server.fetch(url, request(v7(Date.UTC(2026, 0, 3))))).status).toBe(201);
  });
});

describe("handlers", () => {
  test("data is 201, nothing is 204, and names in the path are told", async () => {
    const server = createMockServer()
      .on("post", "/payments/:id/refunds", ({ params, json }) => ({ of: params["id"], was: typeof json }))
      .on("DELETE", "/cards/:card", () => undefined);
    const refund = await server.fetch("/payments/a%20b/refunds", request("1"));
    expect([refund.status, await refund.json()]).toEqual([201, { of: "a b", was: "function" }]);
    const removed = await server.fetch("/cards/4", { method: "DELETE", headers: { "idempotency-key": "2" } });
    const again = await server.fetch("/cards/4", { method: "DELETE", headers: { "idempotency-key": "2" } });
    expect([removed.status, again.status, again.headers.get("idempotency-status")]).toEqual([204, 204, "replayed"]);
  });

  test("another path or another method is not the route's", async () => {
    const server = createMockServer().on("POST", "/payments/:id/refunds", () => ({ refunded: true }));
    expect(await (await server.fetch("/payments/a/b/refunds", request("1"))).json()).toEqual({ id: "1" });
    expect((await server.fetch("/payments/a/refunds")).status).toBe(404);
  });

  test("the latest route that fits is taken", async () => {
    const server = createMockServer()
      .on("POST", "/transfers", () => ({ route: 1 }))
      .on("POST", "/transfers", () => ({ route: 2 }));
    expect(await (await server.fetch(url, request("1"))).json()).toEqual({ route: 2 });
  });

  test("a refusal is stored and is no effect; a failure is neither", async () => {
    let calls = 0;
    const server = createMockServer().on("POST", "/transfers", () => {
      calls += 1;
      if (calls === 1) throw new Error("bug");
      if (calls === 2) return new Response(null, { status: 503 });
      return Response.json({ error: "insufficient_funds" }, { status: 402 });
    });
    const responses = [];
    for (let i = 0; i < 4; i += 1) responses.push(await server.fetch(url, request("k")));
    expect(responses.map(({ status, headers }) => [status, headers.get("idempotency-status")])).toEqual([
      [500, null],
      [503, null],
      [402, "executed"],
      [402, "replayed"],
    ]);
    expect(await responses[0]?.json()).toMatchObject({ detail: "Error: bug" });
    expect([calls, server.effects.length]).toEqual([3, 0]);
  });

  test("without a handler writes are 201 with an id of their own, reads 404", async () => {
    const server = createMockServer();
    const ids = [];
    for (const key of ["a", "b", "a"]) ids.push((await (await server.fetch(url, request(key))).json()).id);
    expect(ids).toEqual(["1", "2", "1"]);
    expect((await server.fetch(url)).status).toBe(404);
  });

  test("a route without keys answers every time; reads need none", async () => {
    const server = createMockServer()
      .on("POST", "/session", () => ({ token: "t" }), { keyed: false })
      .on("GET", "/balance", () => Response.json({ balance: 5 }));
    expect(await (await server.fetch("/session", { method: "POST" })).json()).toEqual({ token: "t" });
    expect(await (await server.fetch("/balance")).json()).toEqual({ balance: 5 });
  });
});

describe("the record of what happened", () => {
  test("requests as they were received, effects as they were made", async () => {
    const clock = createVirtualClock({ start: 5000 });
    const server = createMockServer({ clock });
    await server.fetch(url, request("k", '{"amount": 1.0}'));
    const [received] = server.requests;
    expect(received).toMatchObject({ method: "POST", url, path: "/transfers", key: "k", at: 5000 });
    expect(received?.text()).toBe('{"amount": 1.0}');
    expect(received?.headers.get("content-type")).toBe("application/json");
    expect(server.effects).toEqual([{ key: "k", method: "POST", url, body: { amount: 1 }, at: 5000 }]);
  });

  test("reset forgets keys, effects, requests and faults, and keeps the routes", async () => {
    const clock = createVirtualClock();
    const server = createMockServer({ clock, processing: 10 }).on("POST", "/transfers", () => ({ kept: true }));
    await clock.until(server.fetch(url, request("k")));
    const processed = server.fetch(url, request("processed"));
    await clock.advance(5);
    const sent = server.fetch(url, request("sent"));
    server.reset();
    await clock.until(Promise.all([processed, sent]));
    expect([server.effects, server.requests, server.calls]).toEqual([[], [], []]);
    const after = await clock.until(server.fetch(url, request("k", '{"amount":2}')));
    expect(after.headers.get("idempotency-status")).toBe("executed");
    expect(await after.json()).toEqual({ kept: true });
  });
});

describe("the plain fetch", () => {
  test("knows only its own base", async () => {
    const server = createMockServer({ baseUrl: "https://api.example.com/v1/" });
    expect((await server.fetch("https://api.example.com/v1/x", request("k"))).status).toBe(201);
    expect((await server.fetch("https://api.example.com/v11/x", request("k2"))).status).toBe(421);
    expect(server.calls).toHaveLength(1);
  });

  test("the client's abort is at once, and the server goes on", async () => {
    const clock = createVirtualClock({ start: 0 });
    const server = createMockServer({ clock, processing: "10s" });
    const controller = new AbortController();
    clock.sleep(1000).then(() => controller.abort("enough"));
    await expect(clock.until(server.fetch(url, request("k", "{}", { signal: controller.signal })))).rejects.toBe(
      "enough",
    );
    expect(clock.now()).toBe(1000);
    await clock.advance("9s");
    expect(server.effects).toHaveLength(1);
  });

  test("takes a Request, and an aborted signal sends nothing", async () => {
    const server = createMockServer();
    expect((await server.fetch(new Request(url, request("k")))).status).toBe(201);
    await expect(server.fetch(url, request("k", "{}", { signal: AbortSignal.abort("gone") }))).rejects.toBe("gone");
    expect(server.calls).toHaveLength(1);
  });
});

/** A v7 UUID of this time. */
function v7(at: number): string {
  const hex = at.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
