/** Stripe's SDK. The API answers as docs.stripe.com/api/idempotent_requests and /error-low-level say. */

import { randomUUID } from "node:crypto";
import type { WrapFetchOptions } from "samekey";
import Stripe from "stripe";
import { expect, test, vi } from "vitest";
import { keepsThePromise } from "./promise.js";
import { stripeOver } from "./subjects/stripe.js";

const failure = (status: number, error: object) =>
  Response.json({ error }, { status, headers: { "request-id": "req_1" } });

function handle(request: Request): Response {
  if (request.headers.get("authorization") !== "Bearer sk_test_1")
    return failure(401, { type: "invalid_request_error" });
  return Response.json({ id: "pi_1", object: "payment_intent" }, { headers: { "request-id": "req_1" } });
}

const at = keepsThePromise("stripe", {
  handle,
  contract: {
    busy: () => failure(409, { type: "invalid_request_error", code: "idempotency_key_in_use" }),
    mismatched: () => failure(400, { type: "idempotency_error" }),
    replayed: { "idempotent-replayed": "true" },
    remembers: (status) => status !== 400 && status !== 401,
  },
  result: { id: "pi_1" },
  body: `amount=500&currency=eur&metadata[to]=${encodeURIComponent("ä")}`,
});

const client = (more: Partial<WrapFetchOptions> = {}, config: Stripe.StripeConfig = {}): Stripe =>
  stripeOver(at.open(more), at.api.url, config);

const pay = (stripe: Stripe, more: Stripe.RequestOptions = {}) =>
  stripe.paymentIntents.create({ amount: 500, currency: "eur", metadata: { order: "order-2" } }, more);

const fate = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

test("the key that it mints per call gives way to an intent read from the request", async () => {
  at.api.script("lose");
  const intent: WrapFetchOptions["intent"] = ({ body }) =>
    new URLSearchParams(String(body)).get("metadata[order]") ?? undefined;
  const answers = [await pay(client({ intent })), await pay(client({ intent }))];
  expect(answers.map(({ id }) => id)).toEqual(["pi_1", "pi_1"]);
  expect(at.api.effects).toHaveLength(1);
  expect(at.api.arrivals.map(({ key }) => key)).not.toContainEqual(expect.stringMatching(/^stripe-node/));
});

test("its own retries, after its own time-out, join the operation: one key, one attempt in flight", async () => {
  at.api.script("hold");
  const stripe = client({}, { timeout: 50, maxNetworkRetries: 100 });
  const sent = vi.fn();
  stripe.on("request", sent);
  const paying = pay(stripe);
  await vi.waitFor(() => expect(sent.mock.calls.length).toBeGreaterThan(2), { timeout: 30_000 });
  expect(at.api.arrivals).toHaveLength(1);
  at.api.release();
  expect(await paying).toMatchObject({ id: "pi_1" });
  expect([at.api.effects.length, at.api.overlaps]).toEqual([1, 0]);
});

test.each([
  [400, { type: "invalid_request_error", param: "amount" }, Stripe.errors.StripeInvalidRequestError],
  [402, { type: "card_error", code: "card_declined" }, Stripe.errors.StripeCardError],
  [403, { type: "invalid_request_error" }, Stripe.errors.StripePermissionError],
])("a %i is the error that its users know", async (status, error, type) => {
  at.api.script(failure(status, error));
  const thrown = await fate(pay(client()));
  expect(thrown).toBeInstanceOf(type);
  expect(thrown).toMatchObject({ statusCode: status, requestId: "req_1", raw: error });
  expect(at.api.arrivals).toHaveLength(1);
});

test("a 500 that is replayed is an unknown outcome, and its retries of it send nothing", async () => {
  const failed = () => failure(500, { type: "api_error" });
  const replay = failed();
  replay.headers.set("idempotent-replayed", "true");
  at.api.script(failed(), replay);
  const thrown = await fate(pay(client(), { idempotencyKey: randomUUID() }));
  expect(thrown).toBeInstanceOf(Stripe.errors.StripeConnectionError);
  expect(thrown).toMatchObject({ detail: { name: "UnknownOutcomeError", status: 500 } });
  expect(at.api.arrivals).toHaveLength(2);
});

test("its account and version go with every attempt, those after a restart too", async () => {
  at.api.script("hold");
  const fetch = at.open();
  const paying = fate(pay(stripeOver(fetch, at.api.url), { stripeAccount: "acct_1", apiVersion: "2020-08-27" }));
  await vi.waitFor(() => expect(at.api.effects).toHaveLength(1));
  await fetch.sdk.close({ timeout: 0 });
  expect(await paying).toBeInstanceOf(Stripe.errors.StripeConnectionError);
  await at.open().sdk.resume();
  const told = at.api.arrivals.map(({ headers }) => [headers["stripe-account"], headers["stripe-version"]]);
  expect(told).toEqual([
    ["acct_1", "2020-08-27"],
    ["acct_1", "2020-08-27"],
  ]);
});

test("the same key with other parameters is refused before it is sent", async () => {
  const stripe = client();
  await pay(stripe, { idempotencyKey: "order-3" });
  const other = stripe.paymentIntents.create({ amount: 501, currency: "eur" }, { idempotencyKey: "order-3" });
  expect(await fate(other)).toMatchObject({ detail: { name: "MisuseError", code: "key_reused" } });
  expect(at.api.arrivals).toHaveLength(1);
});
