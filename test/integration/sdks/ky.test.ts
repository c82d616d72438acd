import ky, { HTTPError, type KyInstance, type Options } from "ky";
import { expect, test, vi } from "vitest";
import { keepsThePromise } from "./promise.js";

const at = keepsThePromise("ky", {
  handle: () => Response.json({ id: "p-1" }, { status: 201 }),
  result: { id: "p-1" },
  body: '{"amount":5,"to":"ä"}',
});

const client = (options: Options = {}): KyInstance =>
  ky.create({ prefixUrl: at.api.url, fetch: at.open(), retry: 0, timeout: false, ...options });

const pay = (api: KyInstance, options: Options & { intent?: string } = {}) =>
  api.post("payments", { json: { amount: 5 }, ...options });

test("its own retries after its own time-outs join the operation: one key, one attempt in flight", async () => {
  at.api.script("hold");
  const beforeRetry = vi.fn();
  const retry = { limit: 1000, methods: ["post" as const], retryOnTimeout: true, delay: () => 1 };
  const api = client({ timeout: 20, retry, hooks: { beforeRetry: [beforeRetry] } });
  const paying = pay(api, { intent: "order-2" }).json();
  await vi.waitFor(() => expect(beforeRetry.mock.calls.length).toBeGreaterThan(4), { timeout: 30_000 });
  expect(at.api.arrivals).toHaveLength(1);
  at.api.release();
  expect(await paying).toEqual({ id: "p-1" });
  expect([at.api.arrivals.length, at.api.overlaps]).toEqual([1, 0]);
});

test("a refusal is its HTTPError, with the API's body", async () => {
  at.api.script(Response.json({ error: "no funds" }, { status: 402 }));
  const error = await pay(client()).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(HTTPError);
  const { response } = error as HTTPError;
  expect([response.status, await response.json()]).toEqual([402, { error: "no funds" }]);
  expect(at.api.arrivals).toHaveLength(1);
});

test("a 422 arrives as the MisuseError that it is", async () => {
  at.api.script(Response.json({ error: "reused" }, { status: 422 }));
  await expect(pay(client())).rejects.toMatchObject({ name: "MisuseError", status: 422, data: { error: "reused" } });
});

test("a Request of the caller's: one body, one key, and what a hook signs it with goes with every attempt", async () => {
  at.api.script("lose");
  const request = new Request(`${at.api.url}/payments`, {
    method: "POST",
    body: new Blob(["a=1"], { type: "text/x" }),
  });
  const sign = (signed: Request): void => signed.headers.set("authorization", "Bearer t");
  const api = client({ prefixUrl: "", hooks: { beforeRequest: [sign] } });
  expect(await api(request).json()).toEqual({ id: "p-1" });
  const told = at.api.arrivals.map(({ bytes, headers }) => [
    bytes.toString(),
    headers["content-type"],
    headers.authorization,
  ]);
  expect(told).toEqual([
    ["a=1", "text/x", "Bearer t"],
    ["a=1", "text/x", "Bearer t"],
  ]);
  expect(at.api.effects).toHaveLength(1);
});

test("its signal ends the waiting, not the operation", async () => {
  at.api.script("hold");
  const controller = new AbortController();
  const fetch = at.open();
  const paying = pay(client({ fetch, signal: controller.signal })).json();
  await vi.waitFor(() => expect(at.api.effects).toHaveLength(1));
  controller.abort();
  await expect(paying).rejects.toMatchObject({ name: "AbortError" });
  at.api.release();
  await vi.waitFor(async () => expect(await fetch.sdk.counts()).toEqual({ succeeded: 1 }));
});
