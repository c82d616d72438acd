import { type Duration, post } from "samekey";
import { conflict, createTestSdk, delay, lose, stall, status, unreachable } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { realClock } from "../../../src/platform/real-clock.js";
import { createBrowser, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const order = { intent: "order-1" };
const DAY = 86_400_000;
const forever = { times: Number.POSITIVE_INFINITY };

describe("the attempt's time-out", () => {
  test("F23 F25 covers the body, is fresh for each attempt, and doubles after each up to 2 min", async () => {
    const app = createTestSdk({ operations, retry: { base: 1 } });
    app.server.script(delay("1h", { leg: "request" }), stall({ times: 3 }));
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    const times = app.server.calls.map(({ at }) => at);
    const lengths = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1000));
    expect(lengths).toEqual([30, 60, 120, 120]);
  });

  test("an operation may say its own, longer than the cap", async () => {
    const app = createTestSdk({
      operations: { t: post<Transfer>("/t", { attemptTimeout: "5m" }) },
      retry: { base: 1 },
    });
    app.server.script(delay("4m"));
    expect(await app.until(app.sdk.operation("t", { amount: 1 }).send())).toMatchObject({ attempts: 1 });
  });

  test("covers headers() too, and then nothing was sent", async () => {
    let calls = 0;
    const app = createTestSdk({
      operations,
      headers: () => (calls++ === 0 ? new Promise<never>(() => {}) : {}),
    });
    const at = app.clock.now();
    expect(await app.until(app.sdk.operation("transfer", { amount: 1 }).send())).toMatchObject({ attempts: 2 });
    expect(app.clock.now() - at).toBeGreaterThanOrEqual(30_000);
    expect((await app.store.page({}))[0]?.uncertainSince).toBeUndefined();
  });
});

describe("Retry-After", () => {
  test.each(["reload", "crash"] as const)("F38 F42 is a floor that is kept over a %s", async (how) => {
    const app = createTestSdk({ operations });
    const at = app.clock.now();
    app.server.script(status(503, { headers: { "retry-after": "7200" } }));
    void fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("1s");
    await app[how]();
    app.sdk.start();
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(app.clock.now()).toBeGreaterThanOrEqual(at + 7_200_000);
    expect(app.server.calls).toHaveLength(2);
  });

  test("holds for a run that waited for its slot while another worker made an attempt", async () => {
    const app = createTestSdk({ operations, concurrency: 1 });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).save());
    app.server.script(delay("5s"), status(503, { headers: { "retry-after": "3600" } }));
    const first = app.sdk.operation("transfer", { amount: 0 }).send();
    await app.advance(10);
    const second = app.sdk.operation("transfer", { amount: 1 }, order).send();
    app.sdk.start();
    await app.until(first);
    const at = app.clock.now();
    await app.until(second);
    expect(app.clock.now() - at).toBeGreaterThanOrEqual(3_600_000);
    expect(app.server.calls).toHaveLength(3);
  });

  test("holds for a tab that waited for its slot while another made an attempt", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations, concurrency: 1 }), browser.open({ operations })];
    await browser.clock.until(one.operation("transfer", { amount: 1 }, order).save());
    browser.server.script(delay("5s"), status(503, { headers: { "retry-after": "3600" } }));
    const first = one.operation("transfer", { amount: 0 }).send();
    await browser.clock.advance(10);
    const waiting = one.operation("transfer", { amount: 1 }, order).send();
    await browser.clock.advance(10);
    void two.operation("transfer", { amount: 1 }, order).send();
    await browser.clock.until(first);
    const at = browser.clock.now();
    await browser.clock.until(waiting);
    expect(browser.clock.now() - at).toBeGreaterThan(3_590_000);
    expect(browser.server.calls).toHaveLength(3);
  });

  test("one that passes the last permitted attempt ends the operation now", async () => {
    const app = createTestSdk({ operations });
    app.server.script(status(429, { headers: { "retry-after": "7200" } }));
    const at = app.clock.now();
    const brief = app.sdk.operation("transfer", { amount: 1 }, { deadline: "1h" });
    expect(await app.until(fate(brief.send()))).toMatchObject({ code: "expired" });
    app.server.script(conflict({ retryAfter: 90_000 }));
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))).toMatchObject({
      name: "UnknownOutcomeError",
      code: "key_expired",
    });
    expect(app.clock.now()).toBe(at);
  });
});

test("F39 long waits pass in slices of at most an hour, and no timer overflows", async () => {
  const lengths: number[] = [];
  const app = createTestSdk({ operations, retention: "60d", server: { retention: "60d" } });
  const { sleep } = app.clock;
  app.clock.sleep = (ms, signal) => {
    lengths.push(ms);
    return sleep.call(app.clock, ms, signal);
  };
  app.server.script(status(429, { headers: { "retry-after": String(30 * 86_400) } }));
  app.crash();
  const sending = app.sdk.operation("transfer", { amount: 1 }).send({ wait: "40d" });
  const at = app.clock.now();
  expect(await app.until(sending, "60d")).toMatchObject({ attempts: 2 });
  expect(app.clock.now() - at).toBeGreaterThanOrEqual(30 * DAY);
  expect(lengths.filter((ms) => ms > 3_600_000)).toEqual([40 * DAY]);
});

test("F39 the real clock sleeps longer than a timer can", async () => {
  let isOver = false;
  const controller = new AbortController();
  realClock.sleep(2 ** 31 + 10, controller.signal).then(
    () => {
      isOver = true;
    },
    () => {},
  );
  await realClock.sleep(30);
  expect(isOver).toBe(false);
  controller.abort();
});

describe("backoff", () => {
  test("at most 30 s while someone waits, 15 min in the background", async () => {
    const longest = async (isWaiting: boolean) => {
      const app = createTestSdk({ operations, retention: "30d", seed: 3 });
      app.server.script(status(409, { headers: { "retry-after": "0" }, times: 40 }));
      const handle = app.sdk.operation("transfer", { amount: 1 });
      if (isWaiting) await app.until(handle.send());
      else {
        await app.until(handle.save());
        app.sdk.start();
        await app.advance("1d");
      }
      const times = app.server.calls.map(({ at }) => at);
      expect(times).toHaveLength(41);
      return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
    };
    expect(await longest(true)).toBeLessThanOrEqual(30_000);
    const background = await longest(false);
    expect(background).toBeGreaterThan(5 * 60_000);
    expect(background).toBeLessThanOrEqual(15 * 60_000);
  });
});

describe("the key's window", () => {
  test("I6 F44 no attempt starts later than retention less the margin after the first that may have arrived", async () => {
    const app = createTestSdk({ operations });
    const at = app.clock.now();
    app.server.script(lose.response(), status(503, { ...forever, headers: { "retry-after": "1000" } }));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(await app.until(sending)).toMatchObject({ name: "UnknownOutcomeError", code: "key_expired" });
    expect(app.server.calls.length).toBeGreaterThan(50);
    expect(app.server.calls.at(-1)?.at).toBeLessThanOrEqual(at + DAY - 5 * 60_000);
    const count = app.server.calls.length;
    const [record] = await app.store.page({});
    // Also by hand.
    await app.advance("20m");
    expect(await app.until(fate(app.sdk.retry(record?.id ?? "")))).toMatchObject({ code: "key_expired" });
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()));
    app.sdk.start();
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(count);
  });

  test("F44 retried by hand after the window, although blocked: refused as expired, and called what it is", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response(), status(401));
    const { id } = (await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))) as { id: string };
    await app.advance("25h");
    const error = await app.until(fate(app.sdk.retry(id)));
    expect(error).toMatchObject({ name: "UnknownOutcomeError", code: "key_expired", record: { state: "unresolved" } });
    expect(app.server.calls).toHaveLength(2);
  });

  test("F44 offline for longer than the window with doubt: not sent when back", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response());
    void fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(0);
    app.offline(true);
    await app.advance("25h");
    app.offline(false);
    app.sdk.start();
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(1);
    expect(await app.store.page({})).toMatchObject([{ state: "unresolved", code: "key_expired" }]);
  });

  test("a week offline, never sent: a fresh key, in the same write as the mark", async () => {
    const app = createTestSdk({ operations });
    const { key } = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).save());
    await app.advance("7d");
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(result.key).not.toBe(key);
    expect(app.server.calls.map((call) => call.key)).toEqual([result.key]);
  });

  test("410 with nothing uncertain: minted anew once, as v4", async () => {
    const app = createTestSdk({ operations });
    app.server.script(status(410));
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(result.attempts).toBe(2);
    expect(result.key[14]).toBe("4");
    expect(app.server.calls[0]?.key).not.toBe(result.key);
    app.server.script(status(410, { times: 2 }));
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))).toMatchObject({
      code: "expired",
    });
    app.server.script(lose.response(), status(410));
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))).toMatchObject({
      name: "UnknownOutcomeError",
      code: "key_expired",
    });
  });

  test("a caller's own key is never replaced", async () => {
    const app = createTestSdk({ operations });
    app.server.script(status(410));
    const sending = app.sdk.operation("transfer", { amount: 1 }, { key: "mine" }).send();
    expect(await app.until(fate(sending))).toMatchObject({ code: "expired", key: "mine" });
    expect(app.server.calls).toHaveLength(1);
  });
});

describe("a process that sleeps between the mark and the first byte", () => {
  /** Asleep during `headers()` of the attempt of this number. */
  async function fallAsleep(attempt: number, deadline?: Duration) {
    let wake = (): void => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    let reached = false;
    const headers = async (context: { attempt: number }) => {
      if (context.attempt === attempt) reached = true;
      if (context.attempt === attempt) await asleep;
      return {};
    };
    const app = createTestSdk({ operations, headers });
    app.server.script(lose.response());
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, { ...order, deadline }).send());
    while (!reached) await app.advance(100);
    const [record] = await app.store.page({});
    app.clock.jump(25 * 3_600_000);
    wake();
    return { app, sending, key: record?.key };
  }

  test("I6 with doubt: nothing is sent past the window", async () => {
    const { app, sending } = await fallAsleep(2);
    expect(await app.until(sending)).toMatchObject({ code: "key_expired", record: { state: "unresolved" } });
    expect(app.server.calls).toHaveLength(1);
  });

  test("I6 without: not under the old key, which another process may have sent meanwhile", async () => {
    const { app, sending, key } = await fallAsleep(1);
    expect(await app.until(sending)).toMatchObject({ source: "replayed" });
    expect(new Set(app.server.calls.map((call) => call.key))).not.toContain(key);
  });

  test("not after its deadline", async () => {
    const { app, sending } = await fallAsleep(1, "1h");
    expect(await app.until(sending)).toMatchObject({ code: "expired" });
    expect(app.server.calls).toHaveLength(0);
  });
});

describe("a clock that jumps", () => {
  test("forward: a parked wait is over, and nothing passes the window", async () => {
    const app = createTestSdk({ operations });
    app.server.script(status(503, { headers: { "retry-after": "7200" } }));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("1s");
    app.clock.jump(3 * DAY);
    expect(await app.until(sending)).toMatchObject({ name: "UnknownOutcomeError", code: "key_expired" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("back: with doubt and no server's time to go by, the elapsed time is unknown", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response());
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(0);
    app.clock.jump(-2 * DAY);
    expect(await app.until(sending)).toMatchObject({ name: "UnknownOutcomeError", code: "key_expired" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("back: a server's time that was told before the jump is not gone by", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.operation("transfer", { amount: 0 }).send());
    app.server.script(lose.response(), status(503, { ...forever, headers: { "retry-after": "3600" } }));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("2h");
    app.clock.jump(-2 * DAY);
    expect(await app.until(sending)).toMatchObject({ name: "UnknownOutcomeError", code: "key_expired" });
    const first = app.server.calls[1]?.at ?? 0;
    expect((app.server.calls.at(-1)?.at ?? 0) - first).toBeLessThan(DAY);
  });

  test("back by less than has passed: the window is not longer for it", async () => {
    const app = createTestSdk({ operations });
    await app.until(app.sdk.operation("transfer", { amount: 0 }).send());
    app.server.script(lose.response(), status(503, { ...forever, headers: { "retry-after": "3600" } }));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("20h");
    app.clock.jump(-10 * 3_600_000);
    expect(await app.until(sending)).toMatchObject({ name: "UnknownOutcomeError", code: "key_expired" });
    const times = app.server.calls.slice(1).map(({ at }) => at);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(DAY);
  });

  test("back: without doubt nothing is parked for days", async () => {
    const app = createTestSdk({ operations });
    app.server.script(unreachable({ times: 3 }));
    const sending = app.sdk.operation("transfer", { amount: 1 }, order).send();
    await app.advance(10);
    app.clock.jump(-2 * DAY);
    const steady = app.clock.steady.now();
    expect(await app.until(sending)).toMatchObject({ source: "executed" });
    expect(app.clock.steady.now() - steady).toBeLessThan(60_000);
  });

  test("I7 forward, during an attempt: no other is made beside it", async () => {
    const app = createTestSdk({ operations });
    app.sdk.start();
    app.server.script(delay("20s"));
    const sending = app.sdk.operation("transfer", { amount: 1 }, order).send();
    await app.advance("2s");
    app.clock.jump(3_600_000);
    // Makes the drain look at once.
    await app.until(app.sdk.operation("transfer", { amount: 2 }).save());
    const again = app.sdk.operation("transfer", { amount: 1 }, order).send();
    expect(await app.until(sending)).toMatchObject({ source: "executed", attempts: 1 });
    expect(await app.until(again)).toMatchObject({ attempts: 1 });
    expect(app.server.calls).toHaveLength(2);
  });

  test("back, during an attempt that hangs: its time-out comes, whatever else begins", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("1h", { leg: "request" }));
    void fate(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance("1s");
    app.clock.jump(-2 * DAY);
    await app.until(app.sdk.operation("transfer", { amount: 2 }).send());
    await app.advance("2m");
    expect((await app.store.page({}))[0]).toMatchObject({ timeouts: 1 });
  });

  test("back, during a resume: it still ends after its wait", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("1h"));
    await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    const resuming = app.sdk.resume({ wait: "10s" });
    await app.advance("1s");
    app.clock.jump(-DAY);
    const at = app.clock.steady.now();
    expect(await app.until(resuming)).toMatchObject({ remaining: 1 });
    expect(app.clock.steady.now() - at).toBe(9000);
  });
});

test("an answer that took longer than half the margin of a window tells nothing of the server's clock", async () => {
  const transfer = post<{ amount: number }>("/transfers", { retention: "10m", attemptTimeout: "2m" });
  const app = createTestSdk({ operations: { transfer } });
  const sent = async () => {
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    return app.store.get(id);
  };
  app.server.script(delay("40s"));
  await sent();
  expect(await sent()).toMatchObject({ state: "succeeded", serverSince: undefined });
  expect(await sent()).toMatchObject({ state: "succeeded", serverSince: expect.any(Number) });
});
