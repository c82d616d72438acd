/** Whole operations against servers that are built from the providers' documentation. */
import { type Operations, post } from "samekey";
import { azure, defineProfile, gocardless, openai, paypal, plaid, square, stripe } from "samekey/profiles";
import { createTestSdk, lose, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { fate } from "../client/kit.js";

const operations = { pay: post<{ amount: number }, { id: string }>("/v1/charges") };
const send = { amount: 5 };

/** Keeps its first answer to each key, whatever it was, and marks it when it gives it again. */
function stripeLike(first: () => Response) {
  const app = createTestSdk({ operations, profile: stripe });
  const stored = new Map<string, Response>();
  app.server.on(
    "POST",
    "/v1/charges",
    ({ key = "" }) => {
      const known = stored.get(key);
      if (known) {
        const { status, headers, body } = known.clone();
        return new Response(body, {
          status,
          headers: { ...Object.fromEntries(headers), "idempotent-replayed": "true" },
        });
      }
      const answer = first();
      stored.set(key, answer.clone());
      return answer;
    },
    { keyed: false },
  );
  return { app, stored };
}

describe("stripe", () => {
  test("a lost success is replayed, and told as a replay", async () => {
    const { app, stored } = stripeLike(() => Response.json({ id: "ch_1" }));
    app.server.script(lose.response());
    const result = await app.until(app.sdk.operation("pay", send).send());
    expect(result).toMatchObject({ data: { id: "ch_1" }, source: "replayed", attempts: 2 });
    expect(stored.size).toBe(1);
  });

  test("a lost refusal comes back marked, and settles", async () => {
    const { app } = stripeLike(() => Response.json({ error: { type: "card_error" } }, { status: 402 }));
    app.server.script(lose.response());
    const outcome = await app.until(fate(app.sdk.operation("pay", send).send()));
    expect(outcome).toMatchObject({ code: "rejected", status: 402 });
  });

  test("a refusal after a lost request is asked for once more, and settles", async () => {
    const { app } = stripeLike(() => Response.json({ error: { type: "card_error" } }, { status: 402 }));
    app.server.script(lose.request());
    const outcome = await app.until(fate(app.sdk.operation("pay", send).send()));
    expect(outcome).toMatchObject({ code: "rejected", status: 402 });
    expect(app.server.calls).toHaveLength(3);
  });

  test("I5 a stored 500 is no refusal: its outcome is unknown", async () => {
    const { app, stored } = stripeLike(() => Response.json({ error: { type: "api_error" } }, { status: 500 }));
    const outcome = await app.until(fate(app.sdk.operation("pay", send).send()));
    expect(outcome).toMatchObject({ code: "refused_while_uncertain", status: 500, record: { state: "unresolved" } });
    expect(stored.size).toBe(1);
  });

  test("a key in use is waited for", async () => {
    const { app } = stripeLike(() => Response.json({ id: "ch_1" }));
    const busy = { error: { type: "idempotency_error", code: "idempotency_key_in_use" } };
    app.server.script(status(409, { body: JSON.stringify(busy), times: 3 }));
    expect(await app.until(app.sdk.operation("pay", send).send())).toMatchObject({ data: { id: "ch_1" }, attempts: 4 });
  });

  test("its meaningful headers outlive a restart, others block", async () => {
    const { app } = stripeLike(() => Response.json({ id: "ch_1" }));
    const headers = { "stripe-account": "acct_1", "stripe-version": "2025-01-01" };
    await app.until(app.sdk.operation("pay", send, { headers, intent: "a" }).save());
    app.crash();
    await app.until(app.sdk.resume());
    expect(app.server.calls[0]?.headers.get("stripe-account")).toBe("acct_1");
    expect(app.server.calls[0]?.headers.get("stripe-version")).toBe("2025-01-01");
  });

  test("a key of 256 characters is refused before anything is recorded, one of 255 is not", async () => {
    const { app } = stripeLike(() => Response.json({ id: "ch_1" }));
    const pay = (length: number) => app.until(fate(app.sdk.operation("pay", send, { key: "k".repeat(length) }).send()));
    expect(await pay(256)).toMatchObject({ code: "bad_option" });
    expect(await pay(255)).toMatchObject({ data: { id: "ch_1" } });
  });
});

describe("a key in the body", () => {
  const options = { operations: { pay: post<Record<string, unknown>>("/v2/payments") }, profile: square };
  const open = () => {
    const app = createTestSdk({ ...options, retention: "24h" });
    app.server.on("POST", "/v2/payments", () => ({ ok: true }), { keyed: false });
    return app;
  };

  test("I2 the same bytes on every attempt, over a restart too", async () => {
    const app = open();
    app.server.script(lose.response({ times: 2 }));
    const sending = fate(app.sdk.operation("pay", { amount: 1.5, note: "a" }).send());
    await app.advance("100ms");
    app.crash();
    await app.advance("2m");
    await app.until(app.sdk.resume());
    const bodies = app.server.calls.map((call) => call.text());
    expect(bodies.length).toBeGreaterThan(1);
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toMatch(/^{"idempotency_key":"[\da-f-]{36}","amount":1.5,"note":"a"}$/);
    void sending;
  });

  test("a key that was minted anew before it was sent is the one in the body", async () => {
    const app = open();
    const before = await app.until(app.sdk.operation("pay", {}, { intent: "a" }).save());
    await app.advance("7d");
    const { key } = await app.until(app.sdk.operation("pay", {}, { intent: "a" }).send());
    expect(key).not.toBe(before.key);
    expect(app.server.calls[0]?.text()).toBe(`{"idempotency_key":"${key}"}`);
  });

  test("the key is no part of what makes two bodies the same", async () => {
    const app = open();
    const first = app.sdk.operation("pay", { a: 1, b: 2 }, { intent: "a" }).send();
    const second = app.sdk.operation("pay", { b: 2, a: 1 }, { intent: "a" }).send();
    expect((await app.until(first)).key).toBe((await app.until(second)).key);
    expect(app.server.calls).toHaveLength(1);
  });

  test.each([
    ["a body that holds it", { idempotency_key: "x" }],
    ["a list", [1]],
    ["text that is no JSON", "amount=1"],
  ])("%s is refused at once", async (_, body) => {
    const app = open();
    const outcome = await app.until(fate(app.sdk.operation("pay", body as Record<string, unknown>).send()));
    expect(outcome).toMatchObject({ code: "bad_option", message: expect.stringContaining("idempotency_key") });
  });

  test("an endpoint that takes no key gets none in its body", async () => {
    const app = createTestSdk({ operations: { remove: post<{ token: string }>("/item/remove") }, profile: plaid });
    app.server.on("POST", "/item/remove", () => ({ ok: true }), { keyed: false });
    await app.until(app.sdk.operation("remove", { token: "t" }).send());
    expect(app.server.calls[0]?.text()).toBe('{"token":"t"}');
  });
});

test("a key in the query: after what is there, and a URL that has it already is refused", async () => {
  const profile = defineProfile({ name: "query", queryParameter: "request id", retention: "24h" });
  const routes = { pay: post("/pay?a=1#top"), taken: post("/pay?request%20id=1") } satisfies Operations;
  const app = createTestSdk({ operations: routes, profile });
  app.server.on("POST", "/pay", () => ({ ok: true }), { keyed: false });
  const { key } = await app.until(app.sdk.operation("pay").send());
  expect(app.server.calls[0]?.url).toBe(`${app.server.baseUrl}/pay?a=1&request%20id=${key}`);
  expect(await app.until(fate(app.sdk.operation("taken").send()))).toMatchObject({ code: "bad_option" });
});

describe("gocardless: already created", () => {
  const conflict = {
    error: {
      code: 409,
      type: "invalid_state",
      errors: [{ reason: "idempotent_creation_conflict", links: { conflicting_resource_id: "PM1" } }],
    },
  };
  const open = (read: () => unknown) => {
    const app = createTestSdk({
      operations: { pay: post<{ amount: number }>("/payments", { result: undefined }) },
      profile: gocardless,
      retention: "24h",
    });
    app.server.on("POST", "/payments", () => Response.json(conflict, { status: 409 }), { keyed: false });
    app.server.on("GET", "/payments/PM1", read);
    return app;
  };

  test("it is read, without the key, and is the result", async () => {
    const app = open(() => Response.json({ payments: { id: "PM1" } }));
    const result = await app.until(app.sdk.operation("pay", send).send());
    expect(result).toMatchObject({ data: { payments: { id: "PM1" } }, status: 200, source: "replayed", attempts: 1 });
    const looked = app.server.calls.find(({ method }) => method === "GET");
    expect(looked?.headers.has("idempotency-key")).toBe(false);
  });

  test("where it cannot be read yet, that is tried again", async () => {
    let isDown = true;
    const app = open(() => {
      if (isDown) return new Response(null, { status: 503 });
      return Response.json({ payments: { id: "PM1" } });
    });
    const sending = app.sdk.operation("pay", send).send();
    await app.advance("5s");
    isDown = false;
    expect(await app.until(sending)).toMatchObject({ data: { payments: { id: "PM1" } } });
  });

  test.each(["https://elsewhere.example.com/PM1", "https://ann:secret@api.example.com/payments/PM1"])(
    "it is not read at %s",
    async (place) => {
      const app = createTestSdk({
        operations: { pay: post<{ amount: number }>("/payments") },
        profile: { ...gocardless, lookUp: () => place },
        retention: "24h",
      });
      app.server.on("POST", "/payments", () => Response.json(conflict, { status: 409 }), { keyed: false });
      expect(await app.until(app.sdk.operation("pay", send).send())).toMatchObject({ data: conflict, status: 409 });
      expect(app.server.calls).toHaveLength(1);
    },
  );

  test("where it is not to be had, what tells of it is the result", async () => {
    const app = open(() => new Response(null, { status: 404 }));
    expect(await app.until(app.sdk.operation("pay", send).send())).toMatchObject({ data: conflict, status: 409 });
  });
});

test("azure: the time of the first sending is the same on every attempt", async () => {
  const app = createTestSdk({ operations, profile: azure, retention: "24h", retry: { base: "1h", cap: "1h" } });
  app.server.on("POST", "/v1/charges", () => ({ id: "a" }), { keyed: false });
  app.server.script(lose.response({ times: 2 }));
  const at = new Date(app.clock.now()).toUTCString();
  await app.until(app.sdk.operation("pay", send).send());
  const times = app.server.calls.map(({ headers }) => headers.get("repeatability-first-sent"));
  expect(times).toEqual([at, at, at]);
  expect(app.server.calls.at(-1)?.at).toBeGreaterThan(Date.parse(at) + 1000);
});

test("plaid: a minute between two attempts at the wallet", async () => {
  const path = "/wallet/transaction/execute";
  const app = createTestSdk({ operations: { pay: post<{ amount: number }>(path) }, profile: plaid });
  app.server.on("POST", path, () => ({ ok: true }), { keyed: false });
  app.server.script(lose.response({ times: 2 }));
  await app.until(app.sdk.operation("pay", send).send());
  const at = app.server.calls.map((call) => call.at);
  expect(at).toHaveLength(3);
  const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
});

test("openai: what may have been executed is not sent again", async () => {
  const app = createTestSdk({ operations, profile: openai });
  app.server.on("POST", "/v1/charges", () => ({ id: "a" }), { keyed: false });
  app.server.script(lose.response());
  expect(await app.until(fate(app.sdk.operation("pay", send).send()))).toMatchObject({ code: "attempts" });
  expect(app.server.calls).toHaveLength(1);
});

describe("retention", () => {
  test("is asked for where a profile does not know it", () => {
    expect(() => createTestSdk({ operations, profile: square, retention: undefined }).sdk).toThrow("`retention`");
  });

  test("of one endpoint is recorded with the operation, and what is said here goes before it", async () => {
    const paths = { order: post("/v2/checkout/orders"), other: post("/v1/elsewhere") };
    const retentionOf = async (of: "order" | "other", retention?: "1h") => {
      const app = createTestSdk({ operations: paths, profile: paypal, retention });
      return (await app.until(app.sdk.operation(of).save())).wire.retention;
    };
    expect(await retentionOf("order")).toBe(6 * 3_600_000);
    expect(await retentionOf("order", "1h")).toBe(3_600_000);
    await expect(retentionOf("other")).rejects.toThrow("`retention` is missing");
  });
});
