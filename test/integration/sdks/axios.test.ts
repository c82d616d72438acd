/** axios with its `fetch` adapter: it hands over a `Request`. */

import { AxiosError, type AxiosRequestConfig } from "axios";
import { expect, test, vi } from "vitest";
import { keepsThePromise } from "./promise.js";
import { axiosOver } from "./subjects/axios.js";

const at = keepsThePromise("axios", {
  handle: () => Response.json({ id: "p-1" }, { status: 201 }),
  result: { id: "p-1" },
  body: '{"amount":5,"to":"ä"}',
});

const pay = (config: AxiosRequestConfig = {}) =>
  axiosOver(at.open(), at.api.url).post(
    "/payments",
    { amount: 5 },
    { headers: { "Idempotency-Key": "k-1" }, ...config },
  );

test("a refusal is its AxiosError, with the API's status, headers and body", async () => {
  at.api.script(Response.json({ error: "no funds" }, { status: 402, headers: { "x-request-id": "r-1" } }));
  const error: unknown = await pay().catch((e: unknown) => e);
  expect(error).toBeInstanceOf(AxiosError);
  const { response } = error as AxiosError;
  expect([response?.status, response?.data, response?.headers["x-request-id"]]).toEqual([
    402,
    { error: "no funds" },
    "r-1",
  ]);
  expect(at.api.arrivals).toHaveLength(1);
});

test("its signal ends the waiting; the same call again, without a key, gets the answer of the first", async () => {
  at.api.script("hold");
  const api = axiosOver(at.open(), at.api.url);
  const controller = new AbortController();
  const given = api.post("/payments", { amount: 7 }, { signal: controller.signal }).catch((e: unknown) => e);
  await vi.waitFor(() => expect(at.api.arrivals).toHaveLength(1), { timeout: 30_000 });
  controller.abort();
  expect(await given).toMatchObject({ code: "ERR_CANCELED" });
  const again = api.post("/payments", { amount: 7 });
  at.api.release();
  expect((await again).data).toEqual({ id: "p-1" });
  expect(at.api.arrivals).toHaveLength(1);
});
