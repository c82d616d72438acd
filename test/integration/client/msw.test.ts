/** The client on Node's own fetch, under msw, as an app's tests run it. */

import { http } from "msw";
import { setupServer } from "msw/node";
import { createSdk, post } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { conflict, createMockServer, cut, duplicate, lose, status, unauthorized } from "samekey/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

const server = createMockServer({ baseUrl: "https://bank.example.com", processing: 20 });
const network = setupServer(...server.handlers(http));

beforeAll(() => network.listen({ onUnhandledRequest: "error" }));
afterEach(() => server.reset());
afterAll(() => network.close());

function open() {
  return createSdk({
    name: "msw",
    baseUrl: "https://bank.example.com",
    owner: "single",
    retention: "24h",
    store: memoryStore(),
    retry: { base: 5, cap: 20 },
    operations: { transfer: post<{ amount: number }, { id: string }>("/transfers") },
  });
}

test.each([
  ["a lost request", lose.request()],
  ["a lost response", lose.response()],
  ["F23 a cut body", cut.body()],
  ["F42 a 409", conflict({ retryAfter: 0 })],
  ["F34 a duplicate", duplicate()],
  ["a 503", status(503)],
  ["a 504 after the effect", status(504, { applied: true })],
])("%s: one key, one effect", async (_, fault) => {
  await using sdk = open();
  server.script(fault);
  const result = await sdk.operation("transfer", { amount: 1 }).send();
  expect(result.data).toEqual({ id: "1" });
  expect(new Set(server.calls.map(({ key }) => key))).toEqual(new Set([result.key]));
  expect(server.effects).toHaveLength(1);
});

test("F11 a 401, then a sign-in", async () => {
  await using sdk = open();
  server.script(unauthorized());
  const handle = sdk.operation("transfer", { amount: 1 });
  await expect(handle.send()).rejects.toMatchObject({ code: "blocked" });
  expect(await handle.send()).toMatchObject({ data: { id: "1" }, source: "executed" });
  expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
});
