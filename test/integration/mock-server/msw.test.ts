import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import {
  captivePortal,
  conflict,
  createMockServer,
  cut,
  delay,
  duplicate,
  lose,
  redirect,
  stall,
  status,
  unauthorized,
  unreachable,
} from "samekey/testing";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";

const server = createMockServer({ baseUrl: "https://api.example.com:8443/v1" });
const network = setupServer(
  ...server.handlers(http),
  http.get("https://elsewhere.example.com/", () => HttpResponse.text("another API")),
);
const complaints = vi.spyOn(console, "error");

beforeAll(() => network.listen({ onUnhandledRequest: "error" }));
afterEach(() => {
  server.reset();
  expect(complaints).not.toHaveBeenCalled();
});
afterAll(() => network.close());

function pay(init: RequestInit = {}): Promise<Response> {
  return fetch("https://api.example.com:8443/v1/transfers", {
    method: "POST",
    headers: { "idempotency-key": "key-1", "content-type": "application/json" },
    body: '{"amount":2500}',
    ...init,
  });
}

test("executes once and replays byte for byte, under the real fetch", async () => {
  const first = await pay();
  const again = await pay();
  expect([first.status, first.headers.get("idempotency-status")]).toEqual([201, "executed"]);
  expect([again.status, again.headers.get("idempotency-status")]).toEqual([201, "replayed"]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await again.text()).toBe(await first.text());
  expect(server.effects).toMatchObject([{ key: "key-1", body: { amount: 2500 } }]);
  expect(server.requests.map((request) => request.text())).toEqual(['{"amount":2500}', '{"amount":2500}']);
});

test("serves what is below its base and nothing else", async () => {
  expect(await (await fetch("https://elsewhere.example.com/")).text()).toBe("another API");
  expect(server.calls).toHaveLength(0);
});

test("a lost request, a lost response and a refused connection are errors of fetch", async () => {
  server.script(lose.request(), lose.response(), unreachable({ code: "ENOTFOUND" }));
  await expect(pay()).rejects.toThrow(TypeError);
  expect(server.effects).toHaveLength(0);
  await expect(pay()).rejects.toThrow(TypeError);
  expect(server.effects).toHaveLength(1);
  await expect(pay()).rejects.toMatchObject({ cause: { code: "ENOTFOUND" } });
  expect((await pay()).headers.get("idempotency-status")).toBe("replayed");
});

test("a cut body fails while it is read", async () => {
  server.script(cut.body());
  const response = await pay();
  expect(response.status).toBe(201);
  await expect(response.text()).rejects.toThrow(TypeError);
  expect(server.effects).toHaveLength(1);
});

test("a delayed answer and a stalled body end when the client gives up", async () => {
  server.script(delay("10s"), stall());
  await expect(pay({ signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ name: "TimeoutError" });
  const response = await pay({ signal: AbortSignal.timeout(30) });
  await expect(response.text()).rejects.toMatchObject({ name: "TimeoutError" });
  expect(server.effects).toHaveLength(1);
});

test("answers of a status arrive as they are", async () => {
  server.script(
    conflict({ times: 2, retryAfter: 3 }),
    unauthorized(),
    status(503),
    captivePortal(),
    redirect("/login"),
  );
  const seen: unknown[] = [];
  for (let i = 0; i < 6; i += 1) {
    const { status, headers } = await pay({ redirect: "manual" });
    seen.push([status, headers.get("retry-after"), headers.get("idempotency-status")]);
  }
  expect(seen).toEqual([
    [409, "3", null],
    [409, "3", null],
    [401, null, null],
    [503, null, null],
    [200, null, null],
    [307, null, null],
  ]);
  expect(server.effects).toHaveLength(0);
});

test("a duplicated delivery has one effect", async () => {
  server.script(duplicate({ after: 5 }));
  expect((await pay()).headers.get("idempotency-status")).toBe("replayed");
  expect(server.requests).toHaveLength(2);
  expect(server.effects).toHaveLength(1);
});
