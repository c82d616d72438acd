import { createFetch, type FetchError, type FetchOptions } from "ofetch";
import { expect, test, vi } from "vitest";
import { keepsThePromise } from "./promise.js";

const at = keepsThePromise("ofetch", {
  handle: () => Response.json({ id: "p-1" }, { status: 201 }),
  result: { id: "p-1" },
  body: '{"amount":5,"to":"ä"}',
});

function pay(options: FetchOptions<"json"> & { intent?: string } = {}, fetch = at.open()) {
  const api = createFetch({ fetch, defaults: { baseURL: at.api.url } });
  return api("/payments", { method: "POST", body: { amount: 5 }, ...options });
}
const keys = () => new Set(at.api.arrivals.map(({ key }) => key));

test("its own retries, where nobody knows the outcome, meet the operation again: nothing more is sent", async () => {
  at.api.script("lose", "lose", "lose", "lose");
  const onRequestError = vi.fn();
  const fetch = at.open({ retry: { attempts: 2, base: 10 } });
  const error = await pay({ intent: "order-2", retry: 3, onRequestError }, fetch).catch((e: unknown) => e);
  expect(error).toMatchObject({ name: "FetchError", cause: { name: "UnknownOutcomeError", code: "attempts" } });
  expect(onRequestError).toHaveBeenCalledTimes(4);
  expect([at.api.arrivals.length, keys().size, at.api.effects.length]).toEqual([2, 1, 1]);
});

test("its own retries of a 409 never begin: that is waited for under the same key", async () => {
  at.api.script("lose", "busy", "busy");
  const onResponse = vi.fn();
  expect(await pay({ retry: 3, onResponse })).toEqual({ id: "p-1" });
  expect(onResponse).toHaveBeenCalledTimes(1);
  expect([keys().size, at.api.effects.length, at.api.overlaps]).toEqual([1, 1, 0]);
});

test("its time-out ends the waiting, not the operation", async () => {
  at.api.script("hold");
  const fetch = at.open();
  await expect(pay({ timeout: 200, intent: "order-4" }, fetch)).rejects.toMatchObject({ name: "FetchError" });
  await vi.waitFor(() => expect(at.api.effects).toHaveLength(1));
  at.api.release();
  expect(await pay({ intent: "order-4" }, fetch)).toEqual({ id: "p-1" });
  expect(at.api.arrivals).toHaveLength(1);
});

test("a refusal is its FetchError, with status and parsed data", async () => {
  at.api.script(Response.json({ error: "no funds" }, { status: 402 }));
  const error = (await pay({ retry: 3 }).catch((e: unknown) => e)) as FetchError;
  expect(error).toMatchObject({ name: "FetchError", status: 402, data: { error: "no funds" } });
  expect(at.api.arrivals).toHaveLength(1);
});

test("a Node stream and a form are kept as the SDK hands them on", async () => {
  at.api.script("lose", "lose");
  const form = new FormData();
  form.append("file", new File(["a"], "a.txt"));
  for (const body of [new Blob(["abc"]).stream(), form]) await pay({ body });
  const bodies = at.api.arrivals.map(({ bytes }) => bytes.toString());
  expect([bodies.length, new Set(bodies).size, at.api.effects.length]).toEqual([4, 2, 2]);
});
