import { type OperationRecord, post, type ResumeReport } from "samekey";
import { createTestSdk, delay, lose, status, unauthorized, unreachable } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { createBrowser, createWatchedStore, failing, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const forever = { times: Number.POSITIVE_INFINITY };

type App = ReturnType<typeof createTestSdk<typeof operations>>;

async function save(app: App, count: number): Promise<void> {
  for (let amount = 1; amount <= count; amount++) {
    await app.until(app.sdk.operation("transfer", { amount }, { intent: `order-${amount}` }).save());
  }
}

describe("start and stop", () => {
  test("start finishes what an earlier run left, and what is saved later; stop ends it", async () => {
    const app = createTestSdk({ operations });
    await save(app, 3);
    await app.reload();
    app.sdk.start();
    app.sdk.start();
    await app.advance(0);
    expect(app.server.effects).toHaveLength(3);
    void app.sdk.operation("transfer", { amount: 4 }).save();
    await app.advance(0);
    expect(app.server.effects).toHaveLength(4);
    app.sdk.stop();
    void app.sdk.operation("transfer", { amount: 5 }).save();
    await app.advance("1h");
    expect(app.server.effects).toHaveLength(4);
    app.sdk.start();
    await app.advance(0);
    expect(app.server.effects).toHaveLength(5);
  });

  test("start drives what is saved later, however soon it comes while a resume ends", async () => {
    for (let steps = 0; steps < 20; steps++) {
      const app = createTestSdk({ operations });
      const resumed = app.sdk.resume().then(async () => {
        for (let step = 0; step < steps; step++) await undefined;
        app.sdk.start();
      });
      await app.until(resumed);
      void app.sdk.operation("transfer", { amount: 1 }).save();
      await app.advance(0);
      expect([steps, app.server.effects.length]).toEqual([steps, 1]);
    }
  });

  test("I7 a long attempt in one tab is left alone by another: its lease is renewed", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations, attemptTimeout: "10m" }), browser.open({ operations })];
    browser.server.script(delay("9m"));
    const sending = one.operation("transfer", { amount: 1 }).send();
    await browser.clock.advance("1s");
    two.start();
    await browser.clock.until(sending);
    expect(browser.server.calls).toHaveLength(1);
  });

  test("I7 a claim that waited in the store does not end a lease that was taken meanwhile", async () => {
    const browser = createBrowser();
    const waiting = createWatchedStore(browser.store);
    const [one, two] = [browser.open({ operations }), browser.open({ operations, store: waiting.store })];
    await browser.clock.until(one.operation("transfer", { amount: 1 }, { id: "op-1" }).save());
    waiting.break("claim", async (claim) => {
      await browser.clock.sleep(20_000);
      return claim();
    });
    browser.server.script(delay("25s"));
    two.start();
    await browser.clock.advance("15s");
    one.start();
    await browser.clock.advance("10s");
    expect(await browser.store.get("op-1")).toMatchObject({ fence: 1, attempts: 1 });
    await browser.clock.advance("1m");
    expect(browser.server.calls).toHaveLength(1);
  });

  test("a claim that waited in the store keeps to a Retry-After that was told meanwhile", async () => {
    const browser = createBrowser();
    const waiting = createWatchedStore(browser.store);
    const [one, two] = [browser.open({ operations }), browser.open({ operations, store: waiting.store })];
    await browser.clock.until(one.operation("transfer", { amount: 1 }, { id: "op-1" }).save());
    waiting.break("claim", async (claim) => {
      await browser.clock.sleep(20_000);
      return claim();
    });
    browser.server.script(status(503, { headers: { "retry-after": "60" } }));
    two.start();
    await browser.clock.advance("15s");
    one.start();
    await browser.clock.advance("30s");
    expect(browser.server.calls).toHaveLength(1);
    await browser.clock.advance("5m");
    expect(browser.server.calls).toHaveLength(2);
  });

  test("I7 who was frozen until another had taken over sends nothing any more", async () => {
    const browser = createBrowser();
    const frozen = createWatchedStore(browser.store);
    let give = (): void => {};
    const headers = (): Promise<Record<string, string>> => new Promise((resolve) => (give = () => resolve({})));
    const one = browser.open({ operations, headers, attemptTimeout: "10m", store: frozen.store });
    const two = browser.open({ operations, attemptTimeout: "10m" });
    const sending = one.operation("transfer", { amount: 1 }).send();
    await browser.clock.advance("1s");
    frozen.break("update", () => new Promise(() => {}));
    browser.server.script(delay("9m"));
    two.start();
    await browser.clock.advance("40s");
    expect(browser.server.calls).toHaveLength(1);
    frozen.mend("update");
    give();
    await browser.clock.until(sending);
    expect(browser.server.calls).toHaveLength(1);
  });

  test("a waiting send goes on at once where a drain that was stopped has left off", async () => {
    const app = createTestSdk({ operations });
    await save(app, 1);
    app.server.script([delay("5s"), status(503)]);
    app.sdk.start();
    await app.advance("1s");
    const sending = app.sdk.operation("transfer", { amount: 1 }, { intent: "order-1" }).send();
    await app.advance("1s");
    app.sdk.stop();
    const at = app.clock.now();
    await app.until(sending);
    expect(app.clock.now() - at).toBeLessThan(10_000);
  });

  test("a store that fails for a while does not end it", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    await save(app, 1);
    watched.break("claim", failing("stalled"));
    app.sdk.start();
    await app.advance("5m");
    watched.mend("claim");
    await app.advance("2m");
    expect(app.server.effects).toHaveLength(1);
  });

  test("what is due wakes it in time, without a waiter", async () => {
    const app = createTestSdk({ operations });
    await save(app, 1);
    app.server.script(status(503, { headers: { "retry-after": "5400" } }));
    app.sdk.start();
    const at = app.clock.now();
    await app.advance("2h");
    expect(app.server.calls.map((call) => call.at - at)).toEqual([0, 5_400_000]);
  });

  test("a blocked one whose window ends is called what it is", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response(), status(404));
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    expect(await app.sdk.counts()).toEqual({ blocked: 1 });
    app.sdk.start();
    await app.advance("25h");
    expect(await app.store.page({})).toMatchObject([{ state: "unresolved", code: "key_expired" }]);
  });
});

describe("resume", () => {
  test("drives everything due, reports, and tells of progress", async () => {
    const app = createTestSdk({ operations });
    await save(app, 5);
    await app.reload();
    app.server.script(status(402), status(422), unauthorized(), lose.response());
    const told: ResumeReport[] = [];
    const report = await app.until(app.sdk.resume({ onProgress: (progress) => told.push(progress) }));
    expect(report).toEqual({
      succeeded: 2,
      rejected: 1,
      misused: 1,
      expired: 0,
      blocked: 1,
      unresolved: 0,
      remaining: 0,
    });
    expect(told).toHaveLength(5);
    expect(told.map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, 0]);
  });

  test("aborted before it began: begins nothing afterwards", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    await save(app, 1);
    watched.break("page", async (run) => {
      await app.clock.sleep(1000);
      return run();
    });
    const stop = new AbortController();
    const resuming = app.sdk.resume({ signal: stop.signal });
    await app.advance(100);
    stop.abort();
    await app.until(resuming);
    await app.advance("1m");
    expect(app.server.calls).toHaveLength(0);
  });

  test("is over at once when there is nothing to do, and after `wait` when there is", async () => {
    const app = createTestSdk({ operations });
    const at = app.clock.now();
    expect(await app.until(app.sdk.resume())).toMatchObject({ succeeded: 0, remaining: 0 });
    await save(app, 1);
    app.server.script(status(503, { headers: { "retry-after": "3600" } }));
    // Due later than it would wait: not waited for.
    expect(await app.until(app.sdk.resume({ wait: "10m" }))).toMatchObject({ remaining: 1 });
    expect(app.clock.now()).toBe(at);
    app.server.script(delay("25s", forever));
    await save(app, 2);
    expect(await app.until(app.sdk.resume({ wait: "10s" }))).toMatchObject({ remaining: 2 });
    expect(app.clock.now()).toBe(at + 10_000);
  });

  test("finds every slot taken: that is not the end", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store, concurrency: 1 });
    await save(app, 1);
    // Holds the only slot from before it is recorded, and has nothing under way yet.
    watched.break("insert", async (run) => {
      await app.clock.sleep(100);
      return run();
    });
    const sending = app.sdk.operation("transfer", { amount: 2 }).send();
    await app.advance(0);
    expect(await app.until(app.sdk.resume())).toMatchObject({ succeeded: 2, remaining: 0 });
    await app.until(sending);
  });

  test("waits for what falls due within `wait`", async () => {
    const app = createTestSdk({ operations });
    await save(app, 1);
    app.server.script(status(503, { headers: { "retry-after": "20" } }));
    expect(await app.until(app.sdk.resume())).toMatchObject({ succeeded: 1, remaining: 0 });
  });

  test("a signal ends the waiting, whenever it comes", async () => {
    const app = createTestSdk({ operations });
    await save(app, 1);
    app.server.script(delay("25s", forever));
    const controller = new AbortController();
    const early = app.sdk.resume({ signal: controller.signal });
    controller.abort();
    // What is left is told, whenever it comes: 0 would say that nothing is.
    expect(await app.until(early, 0)).toMatchObject({ succeeded: 0, remaining: 1 });
    const aborted = app.sdk.resume({ signal: AbortSignal.abort() });
    expect(await app.until(aborted, 0)).toMatchObject({ succeeded: 0, remaining: 1 });
    const later = new AbortController();
    const resuming = app.sdk.resume({ signal: later.signal });
    await app.advance("1s");
    later.abort();
    expect(await app.until(resuming, 0)).toMatchObject({ succeeded: 0, remaining: 1 });
    await app.advance("1m");
    expect(await app.sdk.counts()).toEqual({ succeeded: 1 });
  });

  test("several at once share one loop and make each attempt once", async () => {
    const app = createTestSdk({ operations });
    await save(app, 20);
    app.sdk.start();
    await app.until(Promise.all([app.sdk.resume(), app.sdk.resume(), app.sdk.resume({ wait: "1s" })]));
    expect(app.server.calls).toHaveLength(20);
  });

  test("a store that cannot be opened is an error; a wrong wait too", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    watched.break("open", failing("corrupt"));
    expect(await app.until(fate(app.sdk.resume()))).toMatchObject({ code: "corrupt" });
    expect(await fate(app.sdk.resume({ wait: "soon" as never }))).toMatchObject({ code: "bad_option" });
  });

  test("closing ends it", async () => {
    const app = createTestSdk({ operations });
    await save(app, 1);
    app.server.script(delay("25s", forever));
    const resuming = fate(app.sdk.resume());
    await app.advance("1s");
    const closing = app.sdk.close({ timeout: 0 });
    await app.until(Promise.all([resuming, closing]), "1s");
  });
});

describe("the settled hook", () => {
  const kinds = {
    succeeded: undefined,
    rejected: status(402),
    unresolved: lose.response(),
    misused: status(422),
    expired: unreachable(),
  } as const;

  test.each(Object.keys(kinds) as (keyof typeof kinds)[])("is called for one that is %s", async (state) => {
    const told: OperationRecord[] = [];
    const settled = (record: OperationRecord) => void told.push(record);
    const app = createTestSdk({
      operations: { transfer: post<Transfer>("/transfers", { settled, retry: { attempts: 1 } }) },
    });
    const fault = kinds[state];
    if (fault) app.server.script(fault);
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    await app.advance(0);
    expect(told.map((record) => record.state)).toEqual([state]);
    expect(await app.store.page({})).toMatchObject([{ delivered: true }]);
    app.sdk.start();
    await app.advance("1d");
    expect(told).toHaveLength(1);
  });

  test("for one that is canceled", async () => {
    const told: string[] = [];
    const settled = ({ state }: OperationRecord) => void told.push(state);
    const app = createTestSdk({ operations: { transfer: post<Transfer>("/transfers", { settled }) } });
    const handle = app.sdk.operation("transfer", { amount: 1 });
    await app.until(handle.save());
    await app.until(handle.cancel());
    app.sdk.start();
    await app.advance(0);
    expect(told).toEqual(["canceled"]);
  });

  test("is called again until it resolves, by the sender alone, with growing pauses; the waiter does not wait", async () => {
    const times: number[] = [];
    const logged: string[] = [];
    const settled = async () => {
      times.push(app.clock.now());
      if (times.length < 6) throw new Error("the mail server is down");
    };
    const app = createTestSdk({
      operations: { transfer: post<Transfer>("/transfers", { settled }) },
      log: ({ level, message }) => logged.push(`${level}: ${message}`),
    });
    const at = app.clock.now();
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send(), 0);
    await app.advance("1h");
    expect(times).toHaveLength(6);
    const pauses = times.map((time, index) => time - (times[index - 1] ?? at));
    for (let index = 2; index < pauses.length; index++) expect(pauses[index]).toBeGreaterThan(pauses[index - 1] ?? 0);
    expect(logged.filter((line) => line === "error: a settled hook failed")).toHaveLength(5);
    expect(await app.store.page({})).toMatchObject([{ delivered: true, lease: undefined }]);
  });

  test.each(["reload", "crash"] as const)("is called again after a %s in the middle of it", async (how) => {
    let calls = 0;
    const settled = () => {
      calls++;
      return calls === 1 ? new Promise(() => {}) : undefined;
    };
    const app = createTestSdk({ operations: { transfer: post<Transfer>("/transfers", { settled }) } });
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance("1s");
    await app[how]();
    app.sdk.start();
    await app.advance("2m");
    expect(calls).toBe(2);
    expect(app.server.calls).toHaveLength(1);
  });

  test("is owed by the deploy that declares the operation", async () => {
    const told: string[] = [];
    const store = createWatchedStore().store;
    const before = createTestSdk({ operations: { old: post<Transfer>("/old") }, store });
    await before.until(before.sdk.operation("old", { amount: 1 }).save());
    const without = createTestSdk({ operations, store, server: before.server, clock: before.clock });
    expect(await without.until(without.sdk.resume())).toMatchObject({ succeeded: 1 });
    const settled = ({ name }: OperationRecord) => void told.push(name);
    const after = createTestSdk({
      operations: { old: post<Transfer>("/old", { settled }) },
      store,
      server: before.server,
      clock: before.clock,
    });
    after.sdk.start();
    await after.advance("1h");
    expect(told).toEqual(["old"]);
    expect(before.server.calls).toHaveLength(1);
  });

  test("of many at once: no more than twice the concurrency", async () => {
    let running = 0;
    let most = 0;
    const settled = async () => {
      running++;
      most = Math.max(most, running);
      await app.clock.sleep(1000);
      running--;
    };
    const app = createTestSdk({
      operations: { transfer: post<Transfer, Receipt>("/transfers", { settled }) },
      concurrency: 3,
    });
    await save(app, 40);
    await app.until(app.sdk.resume({ wait: "10m" }));
    await app.advance("10m");
    expect(most).toBeLessThanOrEqual(6);
    expect((await app.store.page({})).every(({ delivered }) => delivered)).toBe(true);
  });

  test("I5 an answer of `reconcile` that is older than the latest attempt decides nothing", async () => {
    const answers: ((outcome: "not-applied") => void)[] = [];
    const told: string[] = [];
    const app = createTestSdk({
      operations: {
        transfer: post<Transfer>("/transfers", {
          retry: { attempts: 1 },
          reconcile: () => new Promise<"not-applied">((resolve) => answers.push(resolve)),
          settled: ({ state }) => void told.push(state),
        }),
      },
    });
    app.server.script(lose.request(), lose.response());
    const { id } = (await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))) as { id: string };
    await app.advance("1s");
    await app.until(app.sdk.retry(id));
    app.sdk.start();
    await app.advance("1s");
    expect(app.server.effects).toHaveLength(1);
    answers[0]?.("not-applied");
    await app.advance("1s");
    expect(await app.store.get(id)).toMatchObject({ state: "unresolved", resolution: undefined });
    expect(told).toEqual(["unresolved"]);
  });

  test("`reconcile` is asked first about an unknown outcome", async () => {
    const told: string[] = [];
    const answers = ["throws", "applied"];
    const app = createTestSdk({
      operations: {
        transfer: post<Transfer>("/transfers", {
          retry: { attempts: 1 },
          settled: ({ state }) => void told.push(state),
          reconcile: async () => {
            const answer = answers.shift();
            if (answer === "throws") throw new Error("the look-up is down");
            return answer as "applied";
          },
        }),
        unsure: post<Transfer>("/unsure", {
          retry: { attempts: 1 },
          settled: ({ state }) => void told.push(`unsure ${state}`),
          reconcile: () => "unknown",
        }),
      },
    });
    app.server.script(lose.response({ times: 2 }));
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    await app.until(fate(app.sdk.operation("unsure", { amount: 1 }).send()));
    await app.advance("1m");
    expect(told).toEqual(["unsure unresolved", "succeeded"]);
    expect(await app.sdk.counts()).toEqual({ succeeded: 1, unresolved: 1 });
  });
});

describe("an outage", () => {
  test("opens a breaker: one probe at a time, while other origins go on", async () => {
    let active = 0;
    let most = 0;
    const app = createTestSdk({ operations });
    app.server.script(
      ...Array.from({ length: 40 }, () => [
        {
          name: "count",
          times: 1,
          apply: async (_: unknown, deliver: () => Promise<Response>) => {
            active++;
            most = Math.max(most, active);
            try {
              return await deliver();
            } finally {
              active--;
            }
          },
        },
        status(503),
        delay("1s"),
      ]),
    );
    await save(app, 30);
    app.sdk.start();
    await app.advance("5s");
    expect(most).toBe(30);
    most = 0;
    const before = app.server.calls.length;
    await app.advance("2m");
    expect(most).toBe(1);
    expect(app.server.calls.length - before).toBeLessThan(20);
  });

  test("a recovery ramps up additively", async () => {
    const app = createTestSdk({ operations, concurrency: 16, retry: { backgroundCap: "1s" } });
    await save(app, 60);
    app.server.script(status(503, { times: 16 }));
    app.sdk.start();
    await app.advance(0);
    app.server.script(delay("1s", forever));
    await app.advance("3m");
    const starts = new Map<number, number>();
    for (const { at } of app.server.calls.slice(16)) starts.set(at, (starts.get(at) ?? 0) + 1);
    const waves = [...starts.values()];
    expect(waves.slice(0, 2)).toEqual([1, 2]);
    // One more with every round.
    for (const [index, wave] of waves.entries()) expect(wave).toBeLessThanOrEqual(index + 1);
    expect(Math.max(...waves)).toBeGreaterThan(4);
    expect(app.server.effects).toHaveLength(60);
  });

  test("waiting sends are served as well, first come, first served", async () => {
    const app = createTestSdk({ operations, concurrency: 2 });
    app.server.script(status(503, { times: 6 }));
    const sending = [1, 2, 3, 4, 5, 6].map((amount) => app.sdk.operation("transfer", { amount }).send());
    await app.until(Promise.all(sending));
    expect(app.server.effects).toHaveLength(6);
  });
});

test("no more attempts at once than `concurrency`, for sends and drains together", async () => {
  let active = 0;
  let most = 0;
  const app = createTestSdk({
    operations,
    concurrency: 4,
    headers: async () => {
      active++;
      most = Math.max(most, active);
      await app.clock.sleep(100);
      active--;
      return {};
    },
  });
  await save(app, 20);
  app.sdk.start();
  const sending = Array.from({ length: 20 }, (_, amount) => app.sdk.operation("transfer", { amount }).send());
  await app.until(Promise.all(sending));
  await app.advance("10s");
  expect(most).toBe(4);
  expect(app.server.effects).toHaveLength(40);
});

test("unknown operations of another deploy are driven as they were recorded", async () => {
  const store = createWatchedStore().store;
  const profile = { name: "p", header: "x-key", quoted: true, retention: "1h" } as const;
  const before = createTestSdk({ operations: { old: post<Transfer>("/old", { profile }) }, store });
  const { key } = await before.until(before.sdk.operation("old", { amount: 1 }).save());
  const after = createTestSdk({ operations, store, clock: before.clock, server: before.server });
  await after.until(after.sdk.resume());
  expect(before.server.calls[0]?.headers.get("x-key")).toBe(`"${key}"`);
});

test("nothing is kept in memory of what nobody waits for or watches", async () => {
  const app = createTestSdk({ operations });
  const news: unknown[] = [];
  const refs: WeakRef<object>[] = [];
  for (let amount = 0; amount < 5; amount++) {
    const handle = app.sdk.operation("transfer", { amount }, { intent: `i-${amount}` });
    const stop = handle.subscribe(() => news.push(amount));
    await app.until(handle.send());
    stop();
    refs.push(new WeakRef(handle));
  }
  news.length = 0;
  for (let amount = 0; amount < 5; amount++) {
    const { id } = (await app.sdk.find({ name: "transfer", intent: `i-${amount}` })) ?? { id: "" };
    await app.until(app.sdk.reconcile(id, "applied"));
  }
  expect(news).toEqual([]);
  const gc = (globalThis as { gc?: () => void }).gc;
  if (gc) {
    gc();
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(5);
  }
});

test("a retry by hand while its sender reads an older state is not slept through", async () => {
  const watched = createWatchedStore();
  const app = createTestSdk({ operations, store: watched.store });
  app.server.script(status(503, { headers: { "retry-after": "600" } }));
  const sending = app.sdk.operation("transfer", { amount: 1 }, { id: "op-1" }).send();
  await app.advance("1s");
  watched.break("get", async (run) => {
    const read = await run();
    await app.clock.sleep(50);
    return read;
  });
  // Makes its sender look.
  const handle = app.sdk.attach("op-1");
  void fate(handle.send());
  await app.advance(70);
  await app.until(app.sdk.retry("op-1"));
  const at = app.clock.now();
  expect(await app.until(sending)).toMatchObject({ source: "executed" });
  expect(app.clock.now() - at).toBeLessThan(1000);
});
