/** What the providers' documentation says, next to what a profile does about it. */

import { post } from "samekey";
import * as entry from "samekey/profiles";
import { createTestSdk } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { classify } from "../../../src/core/classify.js";
import { termsOf } from "../../../src/core/profile.js";

const { defineProfile: _, ...profiles } = entry;
type Name = keyof typeof profiles;
const H = 3_600_000;

/** Sends once, retention given where the documentation has none, and tells what arrived. */
async function arrived(name: Name, path: string) {
  const app = createTestSdk({
    operations: { pay: post<{ amount: number }>(path) },
    profile: profiles[name],
    retention: "24h",
  });
  app.server.on("POST", path, () => Response.json({ ok: true }), { keyed: false });
  const { key } = await app.until(app.sdk.operation("pay", { amount: 1 }).send());
  return { key, request: app.server.calls[0] };
}

describe("where the key travels", () => {
  test.each<[Name, string, string]>([
    ["stripe", "/v1/charges", "idempotency-key"],
    ["paypal", "/v2/payments/captures", "paypal-request-id"],
    ["mollie", "/v2/payments", "idempotency-key"],
    ["gocardless", "/payments", "idempotency-key"],
    ["checkoutCom", "/payments", "cko-idempotency-key"],
    ["dwolla", "/transfers", "idempotency-key"],
    ["modernTreasury", "/api/payment_orders", "idempotency-key"],
    ["increase", "/ach_transfers", "idempotency-key"],
    ["mercadoPago", "/v1/payments", "x-idempotency-key"],
    ["yookassa", "/v3/payments", "idempotence-key"],
    ["razorpayX", "/v1/payouts", "x-payout-idempotency"],
    ["klarna", "/payments/v1/sessions", "klarna-idempotency-key"],
    ["resend", "/emails", "idempotency-key"],
    ["coinbase", "/platform/v2/evm/accounts", "x-idempotency-key"],
    ["azure", "/jobs", "repeatability-request-id"],
    ["fineract", "/loans", "idempotency-key"],
  ])("%s %s: the header %s, bare", async (name, path, header) => {
    const { key, request } = await arrived(name, path);
    expect(request?.headers.get(header)).toBe(key);
  });

  test("ietf: a quoted structured-field string", async () => {
    const { key, request } = await arrived("ietf", "/things");
    expect(request?.headers.get("idempotency-key")).toBe(`"${key}"`);
  });

  test.each<[Name, string, string]>([
    ["square", "/v2/payments", "idempotency_key"],
    ["wise", "/v1/transfers", "customerTransactionId"],
    ["plaid", "/transfer/authorization/create", "idempotency_key"],
    ["circle", "/v1/transfers", "idempotencyKey"],
  ])("%s %s: the body's %s, and no header", async (name, path, field) => {
    const { key, request } = await arrived(name, path);
    expect(JSON.parse(request?.text() ?? "")).toEqual({ [field]: key, amount: 1 });
    expect(request?.headers.has("idempotency-key")).toBe(false);
  });

  test.each<Name>(["github", "openai", "anthropic", "sendgrid"])("%s takes none", async (name) => {
    const { key, request } = await arrived(name, "/things");
    expect([...(request?.headers ?? [])].flat()).not.toContain(key);
    expect(request?.text()).toBe('{"amount":1}');
  });

  test.each<[Name, RegExp]>([
    ["coinbase", /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab]/],
    ["circle", /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab]/],
    ["stripe", /^[\da-f]{8}-[\da-f]{4}-7/],
  ])("%s is given a UUID like %s", async (name, form) => {
    expect((await arrived(name, "/things")).key).toMatch(form);
  });
});

test.each<[Name, string, string, number | undefined]>([
  ["stripe", "POST", "/v1/charges", 24 * H],
  ["stripe", "POST", "/v2/core/accounts", 30 * 24 * H],
  ["paypal", "POST", "/v3/vault/payment-tokens", 3 * H],
  ["paypal", "POST", "/v2/checkout/orders", 6 * H],
  ["paypal", "POST", "/v1/billing/subscriptions", 72 * H],
  ["paypal", "POST", "/v1/payments/payouts", 30 * 24 * H],
  ["paypal", "POST", "/v2/payments/captures/1/refund", 45 * 24 * H],
  ["paypal", "POST", "/v1/elsewhere", undefined],
  ["mollie", "POST", "/v2/payments", H],
  ["checkoutCom", "POST", "/payments", 24 * H],
  ["plaid", "POST", "/transfer/authorization/create", 48 * H],
  ["plaid", "POST", "/wallet/transaction/execute", 24 * H],
  ["plaid", "POST", "/bank_transfer/create", 7 * 24 * H],
  ["dwolla", "POST", "/transfers", 24 * H],
  ["modernTreasury", "POST", "/api/payment_orders", 24 * H],
  ["klarna", "POST", "/payments/v1/sessions", 24 * H],
  ["resend", "POST", "/emails", 24 * H],
  ["coinbase", "POST", "/x", 24 * H],
  ["azure", "POST", "/x", 300_000],
  ["square", "POST", "/v2/payments", undefined],
  ["gocardless", "POST", "/payments", undefined],
  ["increase", "POST", "/x", undefined],
  ["mercadoPago", "POST", "/v1/payments", undefined],
  ["yookassa", "POST", "/v3/payments", undefined],
  ["razorpayX", "POST", "/v1/payouts", undefined],
  ["wise", "POST", "/v1/transfers", undefined],
  ["circle", "POST", "/x", undefined],
  ["fineract", "POST", "/x", undefined],
  ["ietf", "POST", "/x", undefined],
])("%s keeps a key of %s %s for %s ms", (name, method, path, ms) => {
  const { retention } = termsOf(profiles[name], method, `https://api.example.com${path}`);
  expect(typeof retention === "string" ? toMs(retention) : retention).toBe(ms);
});

test.each<[Name, string, string, boolean]>([
  ["stripe", "POST", "/v1/charges", true],
  ["stripe", "DELETE", "/v1/customers/1", false],
  ["stripe", "DELETE", "/v2/core/accounts/1", true],
  ["mollie", "DELETE", "/v2/payments/1", true],
  ["mollie", "PATCH", "/v2/payments/1", false],
  ["klarna", "PATCH", "/x", true],
  ["klarna", "DELETE", "/x", false],
  ["dwolla", "PUT", "/x", false],
  ["mercadoPago", "PUT", "/v1/payments/1", true],
  ["resend", "POST", "/emails/batch", true],
  ["resend", "POST", "/contacts", false],
  ["checkoutCom", "POST", "/payments/pay_1/refunds", true],
  ["checkoutCom", "POST", "/customers", false],
  ["plaid", "POST", "/item/remove", false],
  ["wise", "POST", "/v3/quotes", false],
  ["gocardless", "POST", "/payments", true],
  ["gocardless", "POST", "/payments/PM1/actions/cancel", false],
  ["github", "POST", "/repos/a/b/issues", false],
  ["openai", "POST", "/v1/responses", false],
  ["anthropic", "POST", "/v1/messages", false],
  ["sendgrid", "POST", "/v3/mail/send", false],
])("%s deduplicates %s %s: %s", (name, method, path, dedupes) => {
  expect(termsOf(profiles[name], method, `https://api.example.com${path}`).dedupes).toBe(dedupes);
});

const reset = String(Date.UTC(2026, 0, 1) / 1000 + 90);

test.each<[Name, number, unknown, Record<string, string>, Record<string, unknown>]>([
  ["ietf", 422, undefined, {}, { kind: "misused", code: "key_reused" }],
  ["ietf", 409, undefined, {}, { kind: "retry", certain: false }],
  [
    "stripe",
    409,
    { error: { type: "idempotency_error", code: "idempotency_key_in_use" } },
    {},
    { kind: "retry", certain: false },
  ],
  ["stripe", 400, { error: { type: "idempotency_error" } }, {}, { kind: "misused", code: "key_reused" }],
  [
    "stripe",
    402,
    { error: { type: "card_error" } },
    { "idempotent-replayed": "true" },
    { kind: "refused", speaks: true },
  ],
  ["stripe", 500, { error: { type: "api_error" } }, { "idempotent-replayed": "true" }, { kind: "unresolved" }],
  ["stripe", 500, { error: { type: "api_error" } }, {}, { kind: "retry", certain: false }],
  ["stripe", 500, {}, { "stripe-should-retry": "false" }, { kind: "unresolved" }],
  ["stripe", 409, {}, { "stripe-should-retry": "true" }, { kind: "retry", certain: false }],
  [
    "square",
    400,
    { errors: [{ category: "INVALID_REQUEST_ERROR", code: "IDEMPOTENCY_KEY_REUSED" }] },
    {},
    { kind: "misused", code: "key_reused" },
  ],
  ["square", 200, { payment: {} }, {}, { kind: "succeeded" }],
  [
    "paypal",
    409,
    { name: "RESOURCE_CONFLICT", details: [{ issue: "PREVIOUS_REQUEST_IN_PROGRESS" }] },
    {},
    { kind: "retry", certain: false },
  ],
  [
    "gocardless",
    409,
    {
      error: {
        code: 409,
        errors: [{ reason: "idempotent_creation_conflict", links: { conflicting_resource_id: "PM1" } }],
      },
    },
    {},
    { kind: "succeeded", speaks: true },
  ],
  ["gocardless", 409, { error: { code: 409, errors: [{ reason: "other" }] } }, {}, { kind: "retry", conflict: true }],
  ["checkoutCom", 409, undefined, {}, { kind: "retry", certain: false }],
  ["checkoutCom", 429, undefined, {}, { kind: "retry", certain: false }],
  ["checkoutCom", 202, {}, {}, { kind: "succeeded" }],
  ["dwolla", 409, {}, {}, { kind: "retry", certain: false }],
  ["dwolla", 201, {}, {}, { kind: "succeeded" }],
  ["modernTreasury", 409, {}, {}, { kind: "retry", certain: false }],
  [
    "increase",
    409,
    { type: "idempotency_key_already_used_error", resource_id: "x" },
    {},
    { kind: "misused", code: "key_reused" },
  ],
  ["increase", 400, {}, { "idempotent-replayed": "true" }, { kind: "refused", speaks: true }],
  ["mercadoPago", 409, {}, {}, { kind: "retry", certain: false, conflict: true }],
  ["yookassa", 202, { type: "processing" }, {}, { kind: "retry", certain: false }],
  ["yookassa", 400, { type: "error" }, {}, { kind: "refused" }],
  ["yookassa", 500, { type: "error" }, {}, { kind: "retry", certain: false }],
  ["razorpayX", 400, { error: { code: "BAD_REQUEST_ERROR" } }, {}, { kind: "refused" }],
  ["resend", 409, { statusCode: 409, name: "concurrent_idempotent_requests" }, {}, { kind: "retry", certain: false }],
  ["resend", 409, { statusCode: 409, name: "invalid_idempotent_request" }, {}, { kind: "misused", code: "key_reused" }],
  ["resend", 400, { statusCode: 400, name: "invalid_idempotency_key" }, {}, { kind: "misused", code: "key_missing" }],
  ["coinbase", 409, { errorType: "already_exists" }, {}, { kind: "retry", certain: false }],
  ["coinbase", 422, { errorType: "idempotency_error" }, {}, { kind: "misused", code: "key_reused" }],
  ["circle", 409, { code: 2 }, {}, { kind: "misused", code: "key_reused" }],
  ["azure", 409, {}, {}, { kind: "retry", certain: false }],
  ["azure", 412, {}, {}, { kind: "key_expired" }],
  ["azure", 501, {}, {}, { kind: "refused" }],
  ["azure", 503, {}, {}, { kind: "retry", certain: false }],
  ["fineract", 425, {}, {}, { kind: "retry", certain: false }],
  ["fineract", 403, {}, { "x-served-from-cache": "true" }, { kind: "refused", speaks: true }],
  [
    "github",
    403,
    {},
    { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset },
    { kind: "retry", certain: true, after: 90_000 },
  ],
  ["github", 403, {}, { "retry-after": "60" }, { kind: "retry", certain: true, after: 60_000 }],
  ["github", 403, {}, {}, { kind: "refused" }],
  ["sendgrid", 429, {}, { "x-ratelimit-reset": reset }, { kind: "retry", certain: true, after: 90_000 }],
  ["anthropic", 429, {}, { "retry-after": "7" }, { kind: "retry", certain: true, after: 7000 }],
  ["openai", 429, {}, { "retry-after-ms": "250" }, { kind: "retry", certain: true, after: 250 }],
  ["openai", 429, {}, { "x-should-retry": "false" }, { kind: "refused" }],
])("%s answers %s %j with %j: %j", (name, status, body, headers, verdict) => {
  expect(read(name, status, body, headers)).toMatchObject(verdict);
});

test("stripe: a refusal that may be a copy's is asked for once more, where something is uncertain", () => {
  const declined = { error: { type: "card_error" } };
  expect(read("stripe", 402, declined, {}, true)).toMatchObject({ kind: "retry", conflict: true });
  expect(read("stripe", 402, declined, {}, false)).toMatchObject({ kind: "refused" });
});

test("stripe: code that a person wrote into a message is none", () => {
  expect(read("stripe", 400, { error: { message: "idempotency_error" } }, {})).toMatchObject({ kind: "refused" });
});

test.each(Object.entries(profiles))("%s is frozen, and its name is a name", (_, profile) => {
  expect(Object.isFrozen(profile)).toBe(true);
  expect(profile).toHaveProperty("name", expect.stringMatching(/^[a-z-]+$/));
});

function read(name: Name, status: number, body: unknown, headers: Record<string, string>, uncertain = false) {
  const profile = profiles[name];
  const now = Date.UTC(2026, 0, 1);
  const request = { method: "POST", url: "https://api.example.com/payments", uncertain, now };
  const bytes = new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)).buffer as ArrayBuffer;
  const answer = new Headers({ "content-type": "application/json", ...headers });
  const { replayHeaders } = profile;
  const override = profile.read && ((a: Parameters<NonNullable<typeof profile.read>>[0]) => profile.read?.(a, request));
  const rules = { json: true, conflict: "in-progress", unprocessable: "misused", replayHeaders, override } as const;
  return classify({ kind: "answer", status, headers: answer, body: bytes }, rules, now);
}

function toMs(text: string): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  return Number(count) * ({ m: 60_000, h: H, d: 24 * H }[unit ?? ""] ?? Number.NaN);
}
