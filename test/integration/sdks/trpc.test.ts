import { createTRPCClient, type HTTPBatchLinkOptions, httpBatchLink, httpLink, TRPCClientError } from "@trpc/client";
import { expect, test } from "vitest";
import { keepsThePromise } from "./promise.js";
import { handle, type Router } from "./trpc-router.js";

const at = keepsThePromise("trpc", { handle, result: { id: "p-1" }, body: '{"0":{"order":"1","amount":5}}' });

const client = (more: Partial<HTTPBatchLinkOptions<Router["_def"]["_config"]["$types"]>> = {}, fetch = at.open()) =>
  createTRPCClient<Router>({ links: [httpBatchLink({ url: `${at.api.url}/trpc`, fetch, ...more })] });

test("queries go by GET and pass through; mutations of one tick are one batch under one key", async () => {
  at.api.script("lose");
  const api = client();
  const pays = ["a", "b"].map((order) => api.pay.mutate({ order, amount: 5 }));
  expect(await Promise.all([api.balance.query(), ...pays])).toEqual([100, { id: "p-a" }, { id: "p-b" }]);
  const told = at.api.arrivals.map(({ method, path, key }) => [method, path, key !== undefined]);
  expect(told.filter(([method]) => method === "GET")).toEqual([
    ["GET", expect.stringMatching(/^\/trpc\/balance/), false],
  ]);
  expect(told.filter(([method]) => method === "POST")).toEqual([
    ["POST", "/trpc/pay,pay?batch=1", true],
    ["POST", "/trpc/pay,pay?batch=1", true],
  ]);
  expect(at.api.effects).toHaveLength(1);
});

test("of a batch one may fail: each has its own answer, after a lost one too", async () => {
  at.api.script("lose");
  const api = client();
  const [paid, refused] = await Promise.allSettled([
    api.pay.mutate({ order: "a", amount: 5 }),
    api.pay.mutate({ order: "b", amount: 500 }),
  ]);
  expect(paid).toMatchObject({ status: "fulfilled", value: { id: "p-a" } });
  expect(refused).toMatchObject({
    status: "rejected",
    reason: { data: { httpStatus: 412, code: "PRECONDITION_FAILED" } },
  });
  expect([at.api.arrivals.length, at.api.effects.length]).toEqual([2, 1]);
});

test("a refusal is its TRPCClientError", async () => {
  const error = await client()
    .pay.mutate({ order: "c", amount: 500 })
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(TRPCClientError);
  expect(error).toMatchObject({ message: "no funds", data: { httpStatus: 412 } });
  expect(at.api.arrivals).toHaveLength(1);
});

test("one call, one request: httpLink takes the key from the call's context", async () => {
  at.api.script("lose");
  const link = () =>
    httpLink({
      url: `${at.api.url}/trpc`,
      fetch: at.open(),
      headers: ({ op }) => ({ "idempotency-key": String(op.context["order"]) }),
    });
  const pay = (order: string) =>
    createTRPCClient<Router>({ links: [link()] }).pay.mutate({ order, amount: 5 }, { context: { order } });
  expect(await Promise.all([pay("a"), pay("b")])).toEqual([{ id: "p-a" }, { id: "p-b" }]);
  expect(await pay("a")).toEqual({ id: "p-a" });
  expect([...at.api.effects].sort()).toEqual(["a", "b"]);
  expect(at.api.arrivals).toHaveLength(3);
});
