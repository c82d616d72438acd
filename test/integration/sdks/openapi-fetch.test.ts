import { randomUUID } from "node:crypto";
import createClient, { type ClientOptions, type Middleware } from "openapi-fetch";
import { expect, test } from "vitest";
import { keepsThePromise } from "./promise.js";
import type { paths } from "./subjects/openapi-fetch.js";

const at = keepsThePromise("openapi-fetch", {
  handle: () => Response.json({ id: "p-1" }, { status: 201 }),
  result: { id: "p-1" },
  body: '{"amount":5,"to":"ä"}',
});

function pay(options: ClientOptions & { middleware?: Middleware } = {}, more: { intent?: string; key?: string } = {}) {
  const { middleware, ...rest } = options;
  const api = createClient<paths>({ baseUrl: at.api.url, fetch: at.open(), ...rest });
  if (middleware) api.use(middleware);
  const { key = randomUUID(), ...extra } = more;
  return api.POST("/accounts/{id}/payments", {
    params: { path: { id: "7" }, header: { "Idempotency-Key": key } },
    body: { amount: 5, to: "b" },
    ...extra,
  });
}

test("a key minted per call gives way to the intent, which it hangs on the Request", async () => {
  at.api.script("lose");
  const answers = [await pay({}, { intent: "order-2" }), await pay({}, { intent: "order-2" })];
  expect(answers.map(({ data }) => data)).toEqual([{ id: "p-1" }, { id: "p-1" }]);
  expect(at.api.arrivals).toHaveLength(2);
  expect(new Set(at.api.arrivals.map(({ key }) => key)).size).toBe(1);
});

test("a refusal is its `error`", async () => {
  at.api.script(Response.json({ error: "no funds" }, { status: 402 }));
  const { data, error, response } = await pay();
  expect([data, error, response.status]).toEqual([undefined, { error: "no funds" }, 402]);
  expect(at.api.arrivals).toHaveLength(1);
});

test("its middleware may read and replace the Request, and read the Response", async () => {
  at.api.script("lose");
  const seen: unknown[] = [];
  const middleware: Middleware = {
    async onRequest({ request }) {
      seen.push(await request.clone().text());
      return new Request(request, { headers: { ...Object.fromEntries(request.headers), authorization: "Bearer t" } });
    },
    async onResponse({ response }) {
      seen.push(await response.clone().json(), new URL(response.url).pathname);
    },
  };
  expect((await pay({ middleware })).data).toEqual({ id: "p-1" });
  expect(seen).toEqual(['{"amount":5,"to":"b"}', { id: "p-1" }, "/accounts/7/payments"]);
  expect(at.api.arrivals.map(({ headers }) => headers.authorization)).toEqual(["Bearer t", "Bearer t"]);
  expect(at.api.effects).toHaveLength(1);
});
