import { patch, post } from "samekey";
import {
  createTestSdk,
  cut,
  delay,
  lose,
  status,
  type TestSdk,
  unauthorized,
  unprocessable,
  unreachable,
} from "samekey/testing";
import { describe, expect, test } from "vitest";
import { createBrowser, createWatchedStore, fate, type Receipt, type Transfer } from "./kit.js";

const operations = {
  transfer: post<Transfer, Receipt>("/transfers"),
  refund: post<Transfer, Receipt>("/refunds"),
};
const order = { intent: "order-1" };
const keysOf = ({ server }: Pick<TestSdk<never>, "server">) => [...new Set(server.calls.map(({ key }) => key))];
const bodiesOf = ({ server }: Pick<TestSdk<never>, "server">) => [...new Set(server.calls.map((call) => call.text()))];

describe("one key", () => {
  test("F1 F14 over every kind of failure: one key, the same bytes, one effect", async () => {
    const app = createTestSdk({ operations });
    app.server.script(
      status(503),
      lose.response(),
      delay("31s"),
      cut.body(),
      unreachable(),
      status(504, { applied: true }),
    );
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(app.server.calls).toHaveLength(7);
    expect(keysOf(app)).toEqual([result.key]);
    expect(bodiesOf(app)).toEqual(['{"amount":1}']);
    expect(new Set(app.server.calls.map(({ method, url }) => `${method} ${url}`)).size).toBe(1);
    expect(app.server.effects).toHaveLength(1);
    expect(result).toMatchObject({ source: "replayed", attempts: 7, status: 201, data: { id: "1" } });
  });

  test("F2 after a crash the same intent meets the same operation", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response());
    void app.sdk.operation("transfer", { amount: 1 }, order).send();
    await app.advance(0);
    app.crash();
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(result.source).toBe("replayed");
    expect(keysOf(app)).toEqual([result.key]);
    expect(app.server.effects).toHaveLength(1);
  });

  test("F2 F49 a send after a crash does not wait for the dead one's lease", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("1h"));
    void app.sdk.operation("transfer", { amount: 1 }, order).send();
    await app.advance(100);
    const at = app.clock.now();
    app.crash();
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(app.clock.now() - at).toBeLessThan(1000);
    expect(app.server.effects).toHaveLength(1);
  });

  test("F4 no key of one operation is on another's request", async () => {
    const app = createTestSdk({ operations, headers: () => ({ authorization: "Bearer t" }) });
    const a = await app.until(app.sdk.operation("transfer", { amount: 1 }, { key: "key-a" }).send());
    const b = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    const c = await app.until(app.sdk.operation("refund", { amount: 1 }).send());
    expect(new Set([a.key, b.key, c.key]).size).toBe(3);
    expect(app.server.calls.map(({ key }) => key)).toEqual([a.key, b.key, c.key]);
    for (const call of app.server.calls.slice(1)) expect(JSON.stringify([...call.headers])).not.toContain("key-a");
  });

  test("whatever `headers()` says, the key is samekey's, as one value", async () => {
    const app = createTestSdk({ operations, headers: () => ({ "Idempotency-Key": "mine", "content-type": "text/x" }) });
    const { key } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(app.server.calls[0]?.headers.get("idempotency-key")).toBe(key);
    expect(app.server.calls[0]?.headers.get("content-type")).toBe("application/json");
  });
});

describe("joining", () => {
  test("F9 five clicks in one task and over 100 ms with a slow store are one request", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    watched.break("insert", async (run) => {
      await app.clock.sleep(200);
      return run();
    });
    const click = () => app.sdk.operation("transfer", { amount: 1 }, order).send();
    const clicks = [click(), click(), click(), click(), click()];
    for (let more = 0; more < 4; more++) {
      await app.advance(25);
      clicks.push(click());
    }
    const results = await app.until(Promise.all(clicks));
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect(app.server.calls).toHaveLength(1);
    expect(watched.log.filter((entry) => entry === "insert begins")).toHaveLength(1);
  });

  test("StrictMode: mounted, unmounted and mounted again is one request, seen by both", async () => {
    const app = createTestSdk({ operations });
    const first = app.sdk.operation("transfer", { amount: 1 }, order);
    const stop = first.subscribe(() => {});
    const one = first.send();
    stop();
    const second = app.sdk.operation("transfer", { amount: 1 }, order);
    const states: string[] = [];
    second.subscribe(() => states.push(second.getSnapshot().state));
    const two = second.send();
    const [a, b] = await app.until(Promise.all([one, two]));
    expect(a).toEqual(b);
    expect(app.server.calls).toHaveLength(1);
    await app.advance(0);
    expect(states.at(-1)).toBe("succeeded");
    expect(first.getSnapshot()).toBe(second.getSnapshot());
  });

  test("an intent belongs to its owner and operation", async () => {
    const app = createTestSdk({ operations, owner: () => "a" });
    await app.until(
      Promise.all([
        app.sdk.operation("transfer", { amount: 1 }, order).send(),
        app.sdk.operation("refund", { amount: 1 }, order).send(),
        app.sdk.operation("transfer", { amount: 1 }, { ...order, owner: "b" }).send(),
      ]),
    );
    expect(app.server.effects).toHaveLength(3);
  });

  test("a succeeded intent answers from the store, here and after a reload", async () => {
    const app = createTestSdk({ operations });
    const send = () => app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    const first = await send();
    const again = await send();
    await app.reload();
    const later = await send();
    expect([first.source, again.source, later.source]).toEqual(["executed", "store", "store"]);
    expect(again).toMatchObject({ id: first.id, key: first.key, data: first.data, status: 201, attempts: 1 });
    expect(app.server.calls).toHaveLength(1);
  });

  test("members in another order are the same body, another value is not", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.operation("transfer", { amount: 1, at: 2 }, order).send());
    const again = await app.until(app.sdk.operation("transfer", { at: 2, amount: 1 }, order).send());
    expect(again.source).toBe("store");
  });

  test("two tabs with the same intent are one operation", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations }), browser.open({ operations })];
    browser.server.script(delay("2s"));
    const both = [
      one.operation("transfer", { amount: 1 }, order).send(),
      two.operation("transfer", { amount: 1 }, order).send(),
    ];
    const [a, b] = await browser.clock.until(Promise.all(both));
    expect(a?.id).toBe(b?.id);
    expect(browser.server.calls).toHaveLength(1);
  });
});

describe("another body under the same intent", () => {
  test("F7 F12 is refused before any network, naming the record and what differs", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.operation("transfer", { amount: 1, at: 1 }, order).send());
    for (const reload of [false, true]) {
      if (reload) await app.reload();
      const error = await app.until(fate(app.sdk.operation("transfer", { amount: 2, at: 2 }, order).send()));
      expect(error).toMatchObject({
        code: "intent_mismatch",
        fields: ["body.amount", "body.at"],
        record: { intent: "order-1", state: "succeeded" },
      });
    }
    expect(app.server.calls).toHaveLength(1);
  });

  test("F12 while the first is under way, and when its outcome is unknown", async () => {
    const app = createTestSdk({ operations, retry: { attempts: 1 } });
    app.server.script(lose.response());
    const first = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    const other = app.sdk.operation("transfer", { amount: 2 }, order);
    expect(await app.until(fate(other.send()))).toMatchObject({ code: "intent_mismatch", fields: ["body.amount"] });
    expect(await app.until(first)).toMatchObject({ code: "attempts" });
    const error = await app.until(fate(app.sdk.operation("transfer", { amount: 2 }, order).send()));
    expect(error).toMatchObject({ code: "intent_mismatch", record: { state: "unresolved" } });
    expect(app.server.calls).toHaveLength(1);
    // The two ways on: discard and do anew, under another key.
    await app.until(app.sdk.discard((error as { id: string }).id, { reason: "the user changed it" }));
    const anew = await app.until(app.sdk.operation("transfer", { amount: 2 }, order).send());
    expect(keysOf(app)).toHaveLength(2);
    expect(anew.source).toBe("executed");
  });

  test("F7 with keep-first the first bytes are what is sent again", async () => {
    const kept = { transfer: post<Transfer, Receipt>("/transfers", { onIntentMismatch: "keep-first" }) };
    const app = createTestSdk({ operations: kept });
    app.server.script(lose.response());
    void app.sdk.operation("transfer", { amount: 1, at: 1 }, order).send();
    await app.advance(0);
    app.crash();
    await app.until(app.sdk.operation("transfer", { amount: 1, at: 2 }, order).send());
    expect(bodiesOf(app)).toEqual(['{"amount":1,"at":1}']);
    expect(app.server.calls).toHaveLength(2);
  });

  test("no body differs from a body, method and URL count", async () => {
    const close = patch<Transfer | undefined>((body) => `/orders/${body?.at ?? 0}`);
    const app = createTestSdk({ operations: { close } });
    const first = app.sdk.operation("close", undefined, order).send();
    const other = await app.until(fate(app.sdk.operation("close", { amount: 1 }, order).send()));
    expect(other).toMatchObject({ code: "intent_mismatch", fields: ["body"] });
    await app.until(first);
    expect(await app.until(fate(app.sdk.operation("close", { amount: 1, at: 5 }, order).send()))).toMatchObject({
      code: "intent_mismatch",
      fields: ["url", "body"],
    });
  });
});

describe("when an intent is free again", () => {
  const attempt = (app: TestSdk<typeof operations>, amount: number) =>
    app.until(fate(app.sdk.operation("transfer", { amount }, order).send()));

  test("after rejected", async () => {
    const app = createTestSdk({ operations });
    app.server.script(status(402));
    expect(await attempt(app, 1)).toMatchObject({ code: "rejected" });
    expect(await attempt(app, 2)).toMatchObject({ source: "executed" });
    expect(keysOf(app)).toHaveLength(2);
  });

  test("after unprocessable, not after key_reused", async () => {
    const app = createTestSdk({ operations });
    app.server.script(status(422));
    expect(await attempt(app, 1)).toMatchObject({ code: "unprocessable" });
    app.server.script(unprocessable());
    expect(await attempt(app, 2)).toMatchObject({ code: "key_reused" });
    expect(await attempt(app, 3)).toMatchObject({ code: "intent_mismatch" });
    expect(app.server.calls).toHaveLength(2);
  });

  test("after expired and canceled", async () => {
    const app = createTestSdk({ operations });
    app.server.script(unreachable({ times: Number.POSITIVE_INFINITY }));
    const brief = app.sdk.operation("transfer", { amount: 1 }, { ...order, deadline: "10s" });
    expect(await app.until(fate(brief.send()))).toMatchObject({ code: "expired" });
    const idle = app.sdk.operation("transfer", { amount: 2 }, order);
    await app.until(idle.save());
    await app.until(idle.cancel());
    app.server.calm();
    expect(await attempt(app, 3)).toMatchObject({ source: "executed" });
    expect(keysOf(app)).toHaveLength(2);
  });

  test.each(["applied", "not-applied"] as const)("after unresolved only once reconciled (%s)", async (outcome) => {
    const app = createTestSdk({ operations, retry: { attempts: 1 } });
    app.server.script(lose.response());
    const error = (await attempt(app, 1)) as { code: string; id: string };
    expect(error.code).toBe("attempts");
    expect(await attempt(app, 1)).toMatchObject({ code: "attempts", id: error.id });
    await app.until(app.sdk.reconcile(error.id, outcome));
    // Applied: it is done. Not applied: the user may try again.
    expect(await attempt(app, 1)).toMatchObject(
      outcome === "applied" ? { code: "unreadable", id: error.id } : { source: "executed" },
    );
    expect(app.server.calls).toHaveLength(outcome === "applied" ? 1 : 2);
  });
});

describe("pruning", () => {
  test("leaves a tombstone that answers with ResultError and never sends again", async () => {
    const app = createTestSdk({ operations, keepFor: "1d", rememberIntents: "10d" });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.until(app.sdk.operation("transfer", { amount: 9 }).send());
    app.sdk.start();
    await app.advance("2d");
    const left = await app.store.page({});
    expect(left).toHaveLength(1);
    expect(left[0]?.request.body).toBeUndefined();
    expect(left[0]?.response?.body).toBeUndefined();
    const same = app.sdk.operation("transfer", { amount: 1 }, order);
    expect(await app.until(fate(same.send()))).toMatchObject({ code: "unreadable" });
    const other = app.sdk.operation("transfer", { amount: 2 }, order);
    expect(await app.until(fate(other.send()))).toMatchObject({ code: "intent_mismatch" });
    expect(app.server.calls).toHaveLength(2);
    await app.advance("10d");
    expect(await app.store.page({})).toEqual([]);
    expect(await app.until(app.sdk.operation("transfer", { amount: 2 }, order).send())).toMatchObject({
      source: "executed",
    });
  });

  test("of a body without a live handle still compares, also for a handle that is still there", async () => {
    const app = createTestSdk({ operations, keepFor: "1d" });
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    handle.subscribe(() => {});
    await app.until(handle.send());
    app.sdk.start();
    await app.advance("3d");
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 2 }, order).send()))).toMatchObject({
      code: "intent_mismatch",
    });
    expect(await app.until(fate(handle.send()))).toMatchObject({ code: "unreadable" });
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()))).toMatchObject({
      code: "unreadable",
    });
    expect(app.server.calls).toHaveLength(1);
  });

  test("of an operation without an intent: a handle that is still there goes on saying that it succeeded", async () => {
    const app = createTestSdk({ operations, keepFor: "1d" });
    const handle = app.sdk.operation("transfer", { amount: 1 });
    const { key } = await app.until(handle.send());
    app.sdk.start();
    await app.advance("3d");
    expect(await app.sdk.counts()).toEqual({});
    expect(await app.until(handle.send())).toMatchObject({ key, source: "store" });
    expect(await app.until(handle.outcome())).toMatchObject({ state: "succeeded" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("takes nothing that is pending, blocked, unresolved or undelivered", async () => {
    const told: string[] = [];
    const app = createTestSdk({
      keepFor: "1d",
      retention: "60d",
      operations: {
        transfer: post<Transfer>("/transfers"),
        hooked: post<Transfer>("/hooked", {
          settled: ({ id }) => {
            told.push(id);
            throw new Error("not yet");
          },
        }),
        once: post<Transfer>("/once", { retry: { attempts: 1 } }),
      },
    });
    app.server.script(unauthorized(), lose.response());
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    await app.until(fate(app.sdk.operation("once", { amount: 1 }).send()));
    await app.until(fate(app.sdk.operation("hooked", { amount: 1 }).send()));
    app.sdk.start();
    app.server.script(unauthorized());
    await app.advance("5d");
    const states = (await app.store.page({})).map(({ state }) => state);
    expect(states).toEqual(["blocked", "unresolved", "succeeded"]);
    expect(told.length).toBeGreaterThan(5);
  });
});

describe("keys", () => {
  test("from-intent: the same key after a lost store and on another device", async () => {
    const derived = { transfer: post<Transfer, Receipt>("/transfers", { key: "from-intent" }) };
    const one = createTestSdk({ operations: derived, seed: 1 });
    const two = createTestSdk({ operations: derived, seed: 2, server: one.server, clock: one.clock });
    const a = await one.until(one.sdk.operation("transfer", { amount: 1 }, order).send());
    const b = await one.until(two.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(b).toMatchObject({ key: a.key, source: "replayed" });
    expect(one.server.effects).toHaveLength(1);
    const other = await one.until(two.sdk.operation("transfer", { amount: 1 }, { intent: "order-2" }).send());
    expect(other.key).not.toBe(a.key);
  });

  test("the caller's own: same bytes join, other bytes are refused before any network", async () => {
    const app = createTestSdk({ operations });
    const send = (amount: number) => app.sdk.operation("transfer", { amount }, { key: "k/1" }).send();
    const [a, b] = await app.until(Promise.all([send(1), send(1)]));
    expect(a?.id).toBe(b?.id);
    const error = await app.until(fate(send(2)));
    expect(error).toMatchObject({ code: "key_reused", key: "k/1", fields: ["body.amount"] });
    expect(app.server.calls).toHaveLength(1);
    expect(app.server.calls[0]?.key).toBe("k/1");
  });

  test("the caller's own id is the operation's, once", async () => {
    const app = createTestSdk({ operations });
    const send = (amount: number) => app.sdk.operation("transfer", { amount }, { id: "op-1" }).send();
    expect(await app.until(send(1))).toMatchObject({ id: "op-1" });
    expect(await app.until(send(1))).toMatchObject({ id: "op-1", source: "store" });
    expect(await app.until(fate(send(2)))).toMatchObject({ code: "bad_option", record: { id: "op-1" } });
    expect(app.server.calls).toHaveLength(1);
  });

  test("an id joins only the operation and the intent that it was recorded with", async () => {
    const app = createTestSdk({ operations: { ...operations, refund: post("/transfers") } });
    const call = (name: "transfer" | "refund", intent?: string) =>
      app.sdk.operation(name, { amount: 1 }, { id: "op-1", ...(intent !== undefined && { intent }) });
    await app.until(call("transfer", "rent").send());
    expect(await app.until(call("transfer").send())).toMatchObject({ id: "op-1", source: "store" });
    const other = await app.until(fate(call("transfer", "another").send()));
    expect(other).toMatchObject({ code: "bad_option", fields: ["intent"] });
    const renamed = await app.until(fate(call("refund", "rent").send()));
    expect(renamed).toMatchObject({ code: "bad_option", fields: ["operation"] });
    expect(app.server.calls).toHaveLength(1);
  });

  test("of another profile: header, quotes, version", async () => {
    const profile = { name: "p", retention: "1h", header: "X-Request-Key", quoted: true, key: "v4" } as const;
    const app = createTestSdk({ operations, profile, server: { header: "x-request-key", quoted: true } });
    const { key } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(app.server.calls[0]?.headers.get("x-request-key")).toBe(`"${key}"`);
    expect(key[14]).toBe("4");
  });
});
