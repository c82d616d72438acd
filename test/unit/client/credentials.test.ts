import { type HeaderMap, post } from "samekey";
import { createTestSdk, lose, status, unauthorized, unreachable } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { collect, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const order = { intent: "order-1" };

describe("headers()", () => {
  test("F11 401, refreshed, sent again: same key, same bytes, new Authorization, and no key consumed", async () => {
    let token = "old";
    const app = createTestSdk({ operations, headers: () => ({ authorization: `Bearer ${token}` }) });
    app.server.script(unauthorized());
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    expect(await app.until(fate(handle.send()))).toMatchObject({
      code: "blocked",
      record: { state: "blocked", blockedBy: "credentials" },
    });
    token = "new";
    const result = await app.until(handle.send());
    expect(result.source).toBe("executed");
    const [a, b] = app.server.calls;
    expect([a?.key, a?.text()]).toEqual([b?.key, b?.text()]);
    expect([a, b].map((call) => call?.headers.get("authorization"))).toEqual(["Bearer old", "Bearer new"]);
  });

  test("F11 the catch that sends again at once, again and again, is never told anything else", async () => {
    const app = createTestSdk({ operations });
    app.server.script(unauthorized({ times: 3 }));
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const send = async (left: number): Promise<unknown> =>
      handle.send().catch((error: { code: string }) => {
        expect(error.code).toBe("blocked");
        return left > 0 ? send(left - 1) : error;
      });
    expect(await app.until(send(3))).toMatchObject({ source: "executed", attempts: 4 });
  });

  test("is asked for every attempt, and told of which", async () => {
    const asked: unknown[] = [];
    const app = createTestSdk({
      operations,
      owner: () => "ada",
      headers: ({ signal, ...context }) => {
        expect(signal).toBeInstanceOf(AbortSignal);
        asked.push(context);
        return { authorization: `Bearer ${context.attempt}` };
      },
    });
    app.server.script(status(503));
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    const common = { owner: "ada", name: "transfer", url: "https://api.example.com/transfers", id };
    expect(asked).toEqual([
      { ...common, attempt: 1 },
      { ...common, attempt: 2 },
    ]);
    expect(app.server.calls.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer 1", "Bearer 2"]);
  });

  test("null: blocked at once, and tried again by the next send", async () => {
    let signedIn = false;
    const app = createTestSdk({ operations, headers: () => (signedIn ? {} : null) });
    const error = await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()));
    expect(error).toMatchObject({ code: "blocked", record: { blockedBy: "credentials" } });
    expect(app.server.calls).toHaveLength(0);
    signedIn = true;
    expect(await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send())).toMatchObject({
      source: "executed",
    });
  });

  test("a throw: no attempt now, retried, certain; it does not count against the origin", async () => {
    let failures = 8;
    const app = createTestSdk({
      operations,
      headers: async () => {
        if (failures-- > 0) throw new Error("the token server is down");
        return {};
      },
    });
    const sending = app.sdk.operation("transfer", { amount: 1 }, order).send();
    await app.advance(100);
    const [record] = await app.store.page({});
    expect(record?.uncertainSince).toBeUndefined();
    expect(record?.sentAt).toBeUndefined();
    failures = 0;
    expect(await app.until(sending)).toMatchObject({ source: "executed" });
  });

  test("one that throws uses up no attempt", async () => {
    let failures = 5;
    const headers = () => {
      if (failures-- > 0) throw new Error("no token now");
      return {};
    };
    const app = createTestSdk({ operations, headers, retry: { attempts: 2 } });
    app.server.script(unreachable());
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(result).toMatchObject({ source: "executed", attempts: 7 });
    app.server.script(unreachable({ times: 2 }));
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 2 }).send()))).toMatchObject({
      code: "expired",
    });
  });

  test("one operation's failing headers() holds up no other of the same origin", async () => {
    const refund = post<Transfer>("/refunds", {
      headers: () => {
        throw new Error("no token for refunds");
      },
    });
    const app = createTestSdk({ operations: { ...operations, refund }, retry: { cap: "1s" } });
    void fate(app.sdk.operation("refund", { amount: 1 }).send());
    await app.advance("30s");
    const at = app.clock.now();
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(app.clock.now()).toBe(at);
  });

  test.each([
    ["message", () => new Error("sk_live_1 was refused")],
    ["code", () => Object.assign(new Error("no"), { code: "sk_live_1" })],
    ["cause", () => new Error("no", { cause: { code: "sk_live_1" } })],
    ["name", () => Object.assign(new Error("no"), { name: "sk_live_1" })],
    ["whole", () => "sk_live_1"],
  ])("I8 one that throws an error whose %s is a secret: it is not at rest", async (_, secretive) => {
    let isDown = true;
    const headers = () => {
      if (isDown) throw secretive();
      return {};
    };
    const app = createTestSdk({ operations, headers });
    const sending = app.sdk.operation("transfer", { amount: 1 }).send();
    await app.advance("1s");
    isDown = false;
    await app.until(sending);
    const records = JSON.stringify(await app.store.page({}));
    expect(records).toContain('"verdict":"unsent"');
    expect(records).not.toContain("sk_live_1");
  });

  test.each([
    ["a value that HTTP cannot carry", () => ({ authorization: "Bearer\nsecret-1" }) as HeaderMap],
    ["a name that HTTP cannot carry", () => ({ "odd name": "secret-1" }) as HeaderMap],
    ["something that is no object", () => "secret-1" as unknown as HeaderMap],
  ])("%s: every waiter is told at once, and the secret is in no message, log or record", async (_, headers) => {
    const logged: unknown[] = [];
    let isWrong = true;
    const app = createTestSdk({
      operations,
      headers: () => (isWrong ? headers() : {}),
      log: (entry) => logged.push(entry),
    });
    const send = () => app.sdk.operation("transfer", { amount: 1 }, order).send();
    const errors = await app.until(Promise.all([fate(send()), fate(send()), fate(send())]));
    for (const error of errors) expect(error).toMatchObject({ code: "bad_option" });
    const [error] = errors as Error[];
    expect(error?.message).toContain("headers()");
    const everything = [error?.message, error?.stack, JSON.stringify(error?.cause), describeAll(logged)].join();
    expect(everything + JSON.stringify(await app.store.page({}))).not.toContain("secret-1");
    expect(app.server.calls).toHaveLength(0);
    // A fault that was told does not stick.
    isWrong = false;
    expect(await app.until(send())).toMatchObject({ source: "executed" });
  });

  test.each("Content-Length transfer-encoding connection host keep-alive upgrade te trailer expect".split(" "))(
    "%s is the platform's to set: refused for a call and from headers(), not retried for ever",
    async (name) => {
      const given = { [name]: "1" };
      for (const headers of [undefined, () => given]) {
        const app = createTestSdk({ operations, headers });
        const call = app.sdk.operation("transfer", { amount: 1 }, headers ? {} : { headers: given });
        expect(await app.until(fate(call.send({ wait: "1s" })))).toMatchObject({
          code: "bad_option",
          message: expect.stringContaining(`holds a header "${name}" whose name or value no program can send`),
        });
        expect(app.server.calls).toHaveLength(0);
      }
    },
  );

  test("another origin gets none of it", async () => {
    let calls = 0;
    const elsewhere: string[] = [];
    const app = createTestSdk({
      operations: { out: post<Transfer>("https://other.example.org/x"), transfer: post<Transfer>("/transfers") },
      credentials: "include",
      headers: () => {
        calls++;
        return { authorization: "Bearer t" };
      },
    });
    const fetch: typeof globalThis.fetch = async (input, init) => {
      elsewhere.push(JSON.stringify([input, [...new Headers(init?.headers)]]));
      return Response.json({});
    };
    const other = createTestSdk({
      operations: { out: post<Transfer>("https://other.example.org/x") },
      credentials: "include",
      headers: () => {
        calls++;
        return { authorization: "Bearer t" };
      },
      server: Object.assign(Object.create(app.server), { fetch }),
      clock: app.clock,
    });
    await app.until(other.sdk.operation("out", { amount: 1 }).send());
    expect(calls).toBe(0);
    expect(elsewhere).toHaveLength(1);
    expect(elsewhere[0]).not.toMatch(/Bearer|samekey-owner/);
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(app.server.calls[0]?.headers.get("samekey-owner")).toBe("single");
  });

  test("resume and start unblock what waited for credentials", async () => {
    let signedIn = false;
    const app = createTestSdk({ operations, headers: () => (signedIn ? {} : null) });
    const send = (amount: number) => app.until(fate(app.sdk.operation("transfer", { amount }).send()));
    await send(1);
    await send(2);
    signedIn = true;
    expect(await app.until(app.sdk.resume())).toMatchObject({ succeeded: 2, remaining: 0 });
    signedIn = false;
    await send(3);
    await app.reload();
    signedIn = true;
    app.sdk.start();
    await app.advance(0);
    expect(app.server.effects).toHaveLength(3);
  });
});

describe("headers of one call", () => {
  test("those that are not kept are sent by this process, for retries too", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response());
    const headers = { "x-csrf-token": "sentinel-csrf", accept: "application/vnd.x+json" };
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { headers }).send());
    expect(app.server.calls.map((call) => call.headers.get("x-csrf-token"))).toEqual([
      "sentinel-csrf",
      "sentinel-csrf",
    ]);
    expect(app.server.calls[0]?.headers.get("accept")).toBe("application/vnd.x+json");
    const [record] = await app.store.page({});
    expect(record?.request).toMatchObject({ dropped: ["x-csrf-token"], headers: { accept: "application/vnd.x+json" } });
  });

  test("saved now and driven later by this process: still there", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { headers: { "x-a": "1" } }).save());
    app.sdk.start();
    await app.advance("1s");
    expect(app.server.calls[0]?.headers.get("x-a")).toBe("1");
  });

  test("after a restart nobody can supply them: blocked, until a send brings them again", async () => {
    const app = createTestSdk({ operations });
    const call = { ...order, headers: { "x-a": "1" } };
    await app.until(app.sdk.operation("transfer", { amount: 1 }, call).save());
    await app.reload();
    expect(await app.until(app.sdk.resume())).toMatchObject({ blocked: 1 });
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()))).toMatchObject({
      code: "blocked",
      record: { blockedBy: "headers" },
    });
    expect(app.server.calls).toHaveLength(0);
    await app.until(app.sdk.operation("transfer", { amount: 1 }, call).send());
    expect(app.server.calls[0]?.headers.get("x-a")).toBe("1");
  });

  test("kept ones are on the allow-list of the operation or profile, which refuses secrets", async () => {
    const kept = { transfer: post<Transfer>("/transfers", { keepHeaders: ["X-Tenant"] }) };
    const app = createTestSdk({ operations: kept });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { headers: { "x-tenant": "7" } }).save());
    await app.reload();
    await app.until(app.sdk.resume());
    expect(app.server.calls[0]?.headers.get("x-tenant")).toBe("7");
    for (const name of ["Authorization", "cookie", "X-CSRF-Token"]) {
      const options = { operations: { t: post("/t", { keepHeaders: [name] }) } };
      expect(() => createTestSdk(options)).toThrow(/credentials are never kept/);
    }
  });
});

test("F55 F56 no credential is anywhere in the store, the log or the events", async () => {
  const told: unknown[] = [];
  const app = createTestSdk({
    operations,
    headers: () => ({ authorization: "Bearer SENTINEL-1", cookie: "sid=SENTINEL-2" }),
    log: (entry) => told.push(entry),
  });
  for (const event of ["saved", "attempt", "retry", "blocked", "settled"] as const) {
    app.sdk.on(event, (record) => told.push(record));
  }
  app.server.on("POST", "/transfers", () =>
    Response.json({ ok: 1 }, { status: 201, headers: { "set-cookie": "s=SENTINEL-3", "x-token": "SENTINEL-4" } }),
  );
  app.server.script(lose.request(), status(500), unauthorized());
  const call = { ...order, headers: { "x-csrf-token": "SENTINEL-5", authorization: "Basic SENTINEL-6" } };
  await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, call).send()));
  await app.until(app.sdk.operation("transfer", { amount: 1 }, call).send());
  const records = await collect(app.sdk.list());
  const text = describeAll([records, told]);
  expect(text).toContain("order-1");
  expect(text).not.toContain("SENTINEL");
});

/** Everything in it, bytes as text. */
function describeAll(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part instanceof ArrayBuffer) return new TextDecoder().decode(part);
    if (part instanceof Error) return [part.message, part.stack, part.cause];
    return part;
  });
}
