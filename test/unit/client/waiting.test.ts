import { getEventListeners } from "node:events";
import { createSdk, type LogEntry, post } from "samekey";
import { createTestSdk, delay, lose, status, unauthorized, unreachable } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { createSdkWith } from "../../../src/client/sdk.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { seededRandom } from "../../../src/testing/random.js";
import { TestDevice } from "../../../src/testing/test-platform.js";
import { collect, createWatchedStore, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const order = { intent: "order-1" };
const forever = { times: Number.POSITIVE_INFINITY };

describe("I10 the waiter is not the operation", () => {
  test("`wait` over: PendingError, and the operation goes on by itself", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("20s"));
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const at = app.clock.now();
    expect(await app.until(fate(handle.send({ wait: "5s" })))).toMatchObject({
      name: "PendingError",
      code: "pending",
      record: { state: "pending" },
    });
    expect(app.clock.now() - at).toBe(5000);
    await app.advance("20s");
    expect(handle.getSnapshot().state).toBe("succeeded");
    expect(app.server.calls).toHaveLength(1);
  });

  test.each([
    ["a server that answers 503", () => status(503, forever), {}, /attempts: HTTP 503\./],
    ["a closed port", () => unreachable(forever), {}, /attempts: TypeError ECONNREFUSED\./],
    [
      "headers() that throws",
      () => delay(0),
      {
        headers: () => {
          throw new RangeError("no token");
        },
      },
      /attempts: RangeError\./,
    ],
  ])("`wait` over tells why: %s", async (_, fault, options, why) => {
    const app = createTestSdk({ operations, ...options });
    app.server.script(fault());
    const sent = app.sdk.operation("transfer", { amount: 1 }, order).send({ wait: "3s" });
    const { message } = (await app.until(fate(sent))) as Error;
    expect(message).toContain('`transfer`, intent "order-1": no outcome within 3000 ms; the last of ');
    expect(message).toMatch(why);
  });

  test("the log warns of what goes on failing: once per outage, and of what is blocked", async () => {
    const warned: string[] = [];
    const log = ({ level, message, cause }: LogEntry) => level === "warn" && warned.push(`${message} (${cause})`);
    const outage = "5 attempts failed at https://api.example.com";
    const down = createTestSdk({ operations, log });
    down.server.script(status(503, { times: 8 }));
    const fail = () => fate(down.sdk.operation("transfer", { amount: 1 }).send());
    await down.until(Promise.all([fail(), fail()]));
    expect(warned.splice(0)).toEqual([`${outage} (HTTP 503)`]);
    down.server.script(status(503, { times: 6 }));
    await down.until(fail());
    expect(warned.splice(0)).toEqual([`${outage} (HTTP 503)`]);

    const blocked = createTestSdk({ operations, log });
    blocked.server.script(unauthorized());
    await blocked.until(fate(blocked.sdk.operation("transfer", { amount: 1 }).send()));
    expect(warned).toEqual(["blocked: credentials (undefined)"]);
  });

  test("through retries too, without any waiter and without start()", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response(), status(503), status(503));
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send({ wait: 1 })));
    await app.advance("2h");
    expect(app.server.calls).toHaveLength(4);
    expect(await app.sdk.counts()).toEqual({ succeeded: 1 });
  });

  test("`signal` aborted: its reason, at once, and only for that waiter", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("20s"));
    const controller = new AbortController();
    const one = fate(app.sdk.operation("transfer", { amount: 1 }, order).send({ signal: controller.signal }));
    const two = app.sdk.operation("transfer", { amount: 1 }, order).send();
    await app.advance("1s");
    const reason = new Error("the user went elsewhere");
    controller.abort(reason);
    expect(await app.until(one, 0)).toBe(reason);
    expect(await app.until(two)).toMatchObject({ source: "executed" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("a signal that many wait under is listened to once, and by nobody when they have ended", async () => {
    const app = createTestSdk({ operations });
    const { signal } = new AbortController();
    const sends = Array.from({ length: 11 }, (_, amount) => app.sdk.operation("transfer", { amount }).send({ signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await app.until(Promise.all(sends));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("aborted, a signal ends all that wait under it, and those that come to wait under it later", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("20s", forever));
    const controller = new AbortController();
    const send = (amount: number) =>
      fate(app.sdk.operation("transfer", { amount }).send({ signal: controller.signal }));
    const [short, ...sends] = [send(1), send(2), send(3)];
    await app.advance("1s");
    controller.abort("enough");
    expect(await app.until(Promise.all([short, ...sends]), 0)).toEqual(["enough", "enough", "enough"]);
    expect(await app.until(send(4), 0)).toBe("enough");
  });

  test("aborted while the record is being written: the record stays and is sent", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    watched.break("insert", async (run) => {
      await app.clock.sleep(100);
      return run();
    });
    const controller = new AbortController();
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send({ signal: controller.signal }));
    await app.advance(50);
    controller.abort("enough");
    expect(await app.until(sending, 0)).toBe("enough");
    await app.advance("1s");
    expect(app.server.effects).toHaveLength(1);
  });

  test.each([
    ["behind others", { lane: "l" }, false],
    ["offline", {}, true],
  ])("aborted before the first attempt could begin, %s: it is sent all the same", async (_, call, offline) => {
    const app = createTestSdk({ operations });
    app.offline(offline);
    const controller = new AbortController();
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, call).send({ signal: controller.signal }));
    controller.abort("left");
    expect(await app.until(sending)).toBe("left");
    await app.advance("1s");
    app.offline(false);
    await app.advance("1m");
    expect(app.server.effects).toHaveLength(1);
    expect(await app.sdk.counts()).toEqual({ succeeded: 1 });
  });

  test("aborted before: nothing is recorded", async () => {
    const app = createTestSdk({ operations });
    const signal = AbortSignal.abort("no");
    expect(await fate(app.sdk.operation("transfer", { amount: 1 }).send({ signal }))).toBe("no");
    expect(await app.until(app.sdk.operation("transfer", { amount: 2 }).save())).toMatchObject({ seq: 1 });
  });

  test("`wait` of the operation, of createSdk, and of the call", async () => {
    const waits = { transfer: post<Transfer>("/transfers", { wait: "2s" }), other: post<Transfer>("/other") };
    const app = createTestSdk({ operations: waits, wait: "3s" });
    const took = async (sending: Promise<unknown>) => {
      const at = app.clock.now();
      expect(await app.until(fate(sending))).toMatchObject({ code: "pending" });
      return app.clock.now() - at;
    };
    app.server.script(delay("25s", forever));
    expect(await took(app.sdk.operation("transfer", { amount: 1 }).send())).toBe(2000);
    expect(await took(app.sdk.operation("other", { amount: 1 }).send())).toBe(3000);
    expect(await took(app.sdk.operation("other", { amount: 1 }).send({ wait: 70 }))).toBe(70);
    const endless = app.sdk.operation("other", { amount: 1 }).send({ wait: Number.POSITIVE_INFINITY });
    expect(await app.until(endless)).toMatchObject({ source: "executed" });
    expect(await fate(app.sdk.operation("other", { amount: 1 }).send({ wait: "soon" as never }))).toMatchObject({
      code: "bad_option",
    });
  });

  test("outcome() never throws", async () => {
    const app = createTestSdk({ operations });
    const outcome = (options?: { wait?: number; signal?: AbortSignal }) =>
      app.until(app.sdk.operation("transfer", { amount: 1 }).outcome(options));
    expect(await outcome()).toMatchObject({ state: "succeeded", result: { data: { id: "1" } } });
    app.server.script(status(402, { body: "no" }));
    expect(await outcome()).toMatchObject({ state: "rejected", error: { code: "rejected", status: 402 } });
    app.server.script(status(422));
    expect(await outcome()).toMatchObject({ state: "misused", error: { code: "unprocessable" } });
    app.server.script(unauthorized());
    expect(await outcome()).toMatchObject({ state: "blocked", error: { code: "blocked" } });
    app.server.script(delay("9s"));
    expect(await outcome({ wait: 10 })).toMatchObject({ state: "pending", error: { code: "pending" } });
    expect(await outcome({ signal: AbortSignal.abort("x") })).toMatchObject({
      state: "unsaved",
      error: { name: "PendingError", code: "pending", cause: "x" },
    });
    app.server.script(delay("9s"));
    const controller = new AbortController();
    const aborted = app.sdk.operation("transfer", { amount: 1 }).outcome({ signal: controller.signal });
    await app.advance(10);
    controller.abort("x");
    expect(await app.until(aborted)).toMatchObject({ state: "pending", error: { code: "pending", cause: "x" } });
    const bad = app.sdk.operation("transfer", { amount: Number.NaN }).outcome();
    expect(await app.until(bad)).toMatchObject({ state: "unsaved", error: { code: "body_not_replayable" } });
    const canceled = app.sdk.operation("transfer", { amount: 1 });
    await app.until(canceled.cancel());
    expect(await app.until(canceled.outcome())).toMatchObject({ state: "canceled", error: { code: "canceled" } });
    const brief = app.sdk.operation("transfer", { amount: 1 }, { deadline: 0 }).outcome();
    expect(await app.until(brief)).toMatchObject({ state: "expired", error: { code: "expired" } });
  });
});

describe("deadline", () => {
  test("nothing uncertain: expired; no attempt starts later", async () => {
    const app = createTestSdk({ operations });
    app.server.script(unreachable(forever));
    const at = app.clock.now();
    const sending = app.sdk.operation("transfer", { amount: 1 }, { deadline: "1m" }).send();
    expect(await app.until(fate(sending))).toMatchObject({ name: "RejectedError", code: "expired" });
    expect(app.server.calls.at(-1)?.at).toBeLessThan(at + 60_000);
    const count = app.server.calls.length;
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(count);
  });

  test("something uncertain: unresolved", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response(), status(503, forever));
    const sending = app.sdk.operation("transfer", { amount: 1 }, { deadline: "1m" }).send();
    expect(await app.until(fate(sending))).toMatchObject({ name: "UnknownOutcomeError", code: "deadline" });
  });

  test("counts from the call, over a restart", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { ...order, deadline: "1h" }).save());
    await app.reload();
    await app.advance("2h");
    expect(await app.until(app.sdk.resume())).toMatchObject({ expired: 1 });
    expect(app.server.calls).toHaveLength(0);
  });
});

describe("attempts", () => {
  test("a limit that is reached with doubt: unresolved; without: expired", async () => {
    const app = createTestSdk({ operations, retry: { attempts: 3 } });
    app.server.script(lose.request({ times: 3 }), unreachable({ times: 3 }));
    const send = () => app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    expect(await send()).toMatchObject({ code: "attempts", record: { attempts: 3 } });
    expect(await send()).toMatchObject({ code: "expired", record: { attempts: 3 } });
    expect(app.server.calls).toHaveLength(6);
  });

  test("dedupes: false: again only while provably unsent", async () => {
    const profile = { name: "forgetful", dedupes: false, retention: "1h" } as const;
    const app = createTestSdk({ operations, profile });
    app.server.script(unreachable({ times: 2 }));
    const send = () => app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    expect(await send()).toMatchObject({ source: "executed", attempts: 3 });
    app.server.script(lose.response());
    expect(await send()).toMatchObject({ name: "UnknownOutcomeError", record: { attempts: 1 } });
    app.server.script(status(503));
    expect(await send()).toMatchObject({ name: "UnknownOutcomeError", record: { attempts: 1 } });
    app.server.script(delay("10s"));
    void app.sdk.operation("transfer", { amount: 1 }).send();
    await app.advance("1s");
    app.crash();
    expect(await app.until(app.sdk.resume())).toMatchObject({ unresolved: 1 });
  });
});

describe("cancel", () => {
  test("before it was sent: withdrawn; the waiter is told", async () => {
    const app = createTestSdk({ operations });
    app.offline(true);
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const sending = fate(handle.send());
    await app.advance("1s");
    expect(await app.until(handle.cancel())).toMatchObject({ state: "canceled" });
    expect(await app.until(sending)).toMatchObject({ name: "CanceledError", code: "canceled" });
    app.offline(false);
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(0);
  });

  test("before it was recorded: nothing is, and the handle stays so", async () => {
    const app = createTestSdk({ operations });
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    expect(await app.until(handle.cancel())).toBeUndefined();
    expect(await app.until(fate(handle.send()))).toMatchObject({ code: "canceled" });
    expect(await app.until(app.sdk.operation("transfer", { amount: 2 }, order).send())).toMatchObject({
      source: "executed",
    });
  });

  test("in the same task as save", async () => {
    const app = createTestSdk({ operations });
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    void handle.save();
    expect(await app.until(handle.cancel())).toMatchObject({ state: "canceled" });
  });

  test("once it may have been sent: already_sent", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("5s"));
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const sending = handle.send();
    await app.advance("1s");
    expect(await app.until(fate(handle.cancel()), 0)).toMatchObject({ name: "MisuseError", code: "already_sent" });
    const { id } = await app.until(sending);
    expect(await app.until(fate(app.sdk.cancel(id)))).toMatchObject({ code: "already_sent" });
    expect(await app.until(fate(app.sdk.cancel("nobody")))).toMatchObject({ code: "unknown_operation" });
  });

  test("an attempt that was provably not sent leaves it cancelable", async () => {
    const app = createTestSdk({ operations });
    app.server.script(unreachable(forever));
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const sending = fate(handle.send());
    await app.advance("1m");
    expect(await app.until(handle.cancel())).toMatchObject({ state: "canceled" });
    expect(await app.until(sending)).toMatchObject({ code: "canceled" });
  });
});

test("discard and reconcile never while an attempt may still arrive", async () => {
  const app = createTestSdk({ operations });
  app.server.script(delay("5s"));
  const sending = app.sdk.operation("transfer", { amount: 1 }, order).send();
  await app.advance("1s");
  const [record] = await app.store.page({});
  const id = record?.id ?? "";
  expect(await app.until(fate(app.sdk.discard(id, { reason: "x" })), 0)).toMatchObject({ code: "in_flight" });
  expect(await app.until(fate(app.sdk.reconcile(id, "applied")), 0)).toMatchObject({ code: "in_flight" });
  expect(await app.until(sending)).toMatchObject({ source: "executed" });
  for (const wrong of [undefined, {}, { reason: "" }]) {
    expect(await fate(app.sdk.discard(id, wrong as never))).toMatchObject({ code: "bad_option" });
  }
  expect(await fate(app.sdk.reconcile(id, "maybe" as never))).toMatchObject({ code: "bad_option" });
  expect(await app.until(fate(app.sdk.retry("nobody")))).toMatchObject({ code: "unknown_operation" });
});

test("discard with a reason: UnknownOutcomeError naming it, or expired where nothing was sent", async () => {
  const app = createTestSdk({ operations });
  app.server.script(lose.response(), status(503, forever));
  const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
  await app.advance("1s");
  const [record] = await app.store.page({});
  await app.until(app.sdk.discard(record?.id ?? "", { reason: "paid by cheque" }));
  const error = (await app.until(sending)) as Error;
  expect(error).toMatchObject({ name: "UnknownOutcomeError", code: "discarded" });
  expect(error.message).toContain("paid by cheque");
  const idle = await app.until(app.sdk.operation("transfer", { amount: 2 }).save());
  expect(await app.until(app.sdk.discard(idle.id, { reason: "never mind" }))).toMatchObject({ state: "expired" });
});

describe("close", () => {
  test("what is asked of it afterwards advises a new one", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.close());
    const advice = "this Sdk was closed; make a new one with createSdk";
    expect(() => app.sdk.start()).toThrow(advice);
    const calls: (() => Promise<unknown>)[] = [
      () => app.sdk.operation("transfer", { amount: 1 }).send(),
      () => app.sdk.counts(),
      () => app.sdk.attach("x").save(),
    ];
    for (const call of calls) {
      expect(await app.until(fate(call()))).toMatchObject({ message: expect.stringContaining(advice) });
    }
  });

  test("attempts in flight get 5 s, waiters are told at once, nothing new is sent", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("3s"), delay("1h"));
    const quick = fate(app.sdk.operation("transfer", { amount: 1 }, { intent: "quick" }).send());
    const slow = fate(app.sdk.operation("transfer", { amount: 2 }, { intent: "slow" }).send());
    await app.advance("1s");
    const at = app.clock.now();
    const closing = app.sdk.close();
    for (const waiter of [quick, slow]) {
      expect(await app.until(waiter, 0)).toMatchObject({ name: "PendingError", code: "closed" });
    }
    await app.until(closing);
    expect(app.clock.now() - at).toBe(5000);
    const records = await openAgain(app);
    expect(records.map(({ state }) => state)).toEqual(["succeeded", "pending"]);
    expect(records[1]?.uncertainSince).toBeDefined();
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 3 }).send()))).toMatchObject({
      name: "StoreError",
      code: "unavailable",
    });
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(2);
    // The next one goes on.
    app.server.calm();
    const fresh = app.crash();
    expect(await app.until(fresh.resume())).toMatchObject({ succeeded: 1 });
    expect(app.server.effects).toHaveLength(2);
  });

  test("does not wait when nothing is in flight, nor for a breaker, nor for a hook that hangs", async () => {
    const app = createTestSdk({
      operations: { transfer: post<Transfer>("/transfers", { settled: () => new Promise(() => {}) }) },
      concurrency: 2,
    });
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    app.server.script(status(503, forever));
    const sending = [1, 2, 3, 4, 5, 6].map((amount) => fate(app.sdk.operation("transfer", { amount }).send()));
    await app.advance("5s");
    const at = app.clock.now();
    await app.until(app.sdk.close());
    expect(app.clock.now() - at).toBeLessThanOrEqual(5000);
    for (const error of await Promise.all(sending)) expect(error).toMatchObject({ code: "closed" });
  });

  test("with a record being written: it is written, not sent, and found again", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    watched.break("insert", async (run) => {
      await app.clock.sleep(200);
      return run();
    });
    watched.break("update", async (run) => {
      await app.clock.sleep(200);
      return run();
    });
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(100);
    await app.until(app.sdk.close());
    expect(await app.until(sending)).toMatchObject({ code: "closed" });
    expect(app.server.calls).toHaveLength(0);
    const [record] = await openAgain(app);
    // Provably not sent, and known to be.
    expect(record).toMatchObject({ state: "pending", sentAt: undefined, uncertainSince: undefined, mark: undefined });
  });

  test.each(["a send", "the drain"])(
    "while %s claims: what was claimed was never sent, and nothing says otherwise",
    async (who) => {
      const watched = createWatchedStore();
      const app = createTestSdk({ operations, store: watched.store });
      const handle = app.sdk.operation("transfer", { amount: 1 }, order);
      await app.until(handle.save());
      watched.break("claim", async (run) => {
        const claimed = await run();
        await app.clock.sleep(100);
        return claimed;
      });
      if (who === "a send") void fate(handle.send());
      else app.sdk.start();
      await app.advance(50);
      await app.until(app.sdk.close());
      watched.mend("claim");
      const sdk = app.crash();
      const [record] = await collect(sdk.list());
      expect(record).toMatchObject({ state: "pending", sentAt: undefined, mark: undefined, lease: undefined });
    },
  );

  test("with a record being written whose headers() would never come: it does not wait for them", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store, headers: () => new Promise<never>(() => {}) });
    watched.break("insert", async (run) => {
      await app.clock.sleep(6000);
      return run();
    });
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(100);
    await app.until(app.sdk.close(), "10s");
    expect(await app.until(sending)).toMatchObject({ code: "closed" });
  });

  test("while sends wait for a breaker: they are turned away at once", async () => {
    const app = createTestSdk({ operations, concurrency: 1 });
    app.server.script(status(503, { times: 5 }));
    const sending = [1, 2, 3].map((amount) => fate(app.sdk.operation("transfer", { amount }).send()));
    while (app.server.calls.length < 5) await app.advance(50);
    const at = app.clock.now();
    await app.until(app.sdk.close());
    expect(app.clock.now()).toBe(at);
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(5);
    for (const error of await Promise.all(sending)) expect(error).toMatchObject({ code: "closed" });
  });

  test("leaves no listener behind, whatever was waiting", async () => {
    const app = createTestSdk({ operations });
    let listeners = 0;
    const platform = {
      ...new TestDevice().platform(app.clock, seededRandom(1)),
      onWake: () => {
        listeners++;
        return () => listeners--;
      },
    };
    const fetch: typeof globalThis.fetch = async () => new Response(null, { status: 503 });
    const baseUrl = "https://api.example.com";
    const options = { name: "x", owner: "single", retention: "1h", baseUrl, operations, concurrency: 1 } as const;
    const sdk = createSdkWith({ ...options, fetch, store: memoryStore() }, platform);
    sdk.start();
    const stop = sdk.pending.subscribe(() => {});
    const sending = [1, 2, 3].map((amount) => fate(sdk.operation("transfer", { amount }).send()));
    await app.advance("10s");
    expect(listeners).toBeGreaterThan(1);
    stop();
    await app.until(sdk.close());
    await app.until(Promise.all(sending));
    await app.advance("1m");
    expect(listeners).toBe(0);
  });

  test("twice is once; timeout as asked; `await using`", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("1h"));
    void fate(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance("1s");
    const at = app.clock.now();
    await app.until(Promise.all([app.sdk.close({ timeout: "1s" }), app.sdk.close()]));
    expect(app.clock.now() - at).toBe(1000);
    expect(await fate(app.sdk.close({ timeout: "soon" as never }))).toMatchObject({ code: "bad_option" });
    const sdk = createTestSdk({ operations }).sdk;
    {
      await using used = sdk;
      expect(await used.counts()).toEqual({});
    }
    expect(await fate(sdk.counts())).toMatchObject({ code: "unavailable" });
  });
});

test("importing and createSdk touch nothing: no store, no crypto, no timer", () => {
  const touched: string[] = [];
  const watch = (name: string) =>
    new Proxy(() => {}, {
      get: (_, member) => {
        touched.push(`${name}.${String(member)}`);
        return () => touched.push(name);
      },
      has: () => true,
    });
  const sdk = createSdk({
    name: "x",
    owner: () => {
      touched.push("owner");
      return "a";
    },
    baseUrl: "https://api.example.com",
    retention: "1h",
    store: watch("store") as never,
    clock: watch("clock") as never,
    fetch: watch("fetch") as never,
    random: (() => touched.push("random")) as never,
    operations,
  });
  sdk.on("saved", () => {});
  expect(sdk.pending.getSnapshot()).toEqual([]);
  expect(touched).toEqual([]);
});

async function openAgain(app: ReturnType<typeof createTestSdk<typeof operations>>) {
  await app.store.open({ name: "test", clock: app.clock });
  return app.store.page({});
}
