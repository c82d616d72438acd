import { type OperationRecord, post } from "samekey";
import { createTestSdk, lose, status, unauthorized } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { Janitor } from "../../../src/client/janitor.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { collect, createBrowser, createWatchedStore, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const full = { name: "StoreError", code: "store_full", message: expect.stringContaining("`maxPending`") };

describe("maxPending", () => {
  test("one more is refused at once: nothing is recorded, nothing is sent; to join is still possible", async () => {
    const app = createTestSdk({ operations, maxPending: 2, owner: () => undefined, store: memoryStore() });
    const order = (n: number) =>
      app.sdk.operation("transfer", { amount: n }, { intent: `order-${n}`, owner: `user-${n}` });
    await app.until(order(1).save());
    const second = await app.until(order(2).save());
    expect(await app.until(fate(order(3).save()))).toMatchObject(full);
    expect(await app.until(fate(order(3).send()))).toMatchObject(full);
    expect(await app.until(order(2).save())).toEqual(second);
    expect(await app.sdk.counts({ owner: "*" })).toEqual({ pending: 2 });
    expect(app.server.calls).toHaveLength(0);
  });

  test("an outcome makes room, a blocked operation takes it", async () => {
    const app = createTestSdk({ operations, maxPending: 1 });
    app.server.script(unauthorized());
    const first = app.sdk.operation("transfer", { amount: 1 }, { intent: "a" });
    expect(await app.until(fate(first.send()))).toMatchObject({ code: "blocked" });
    const second = () => app.sdk.operation("transfer", { amount: 2 }, { intent: "b" }).send();
    expect(await app.until(fate(second()))).toMatchObject(full);
    await app.until(first.send());
    await app.until(second());
    app.server.script(status(402));
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 3 }).send()))).toMatchObject({
      code: "rejected",
    });
    expect(app.server.effects).toHaveLength(2);
  });

  test("of many calls in one task, and in several tabs, no more than allowed are recorded", async () => {
    const browser = createBrowser();
    const tabs = [browser.open({ operations, maxPending: 10 }), browser.open({ operations, maxPending: 10 })];
    const calls = tabs.flatMap((tab) =>
      Array.from({ length: 20 }, (_, amount) => tab.operation("transfer", { amount })),
    );
    const outcomes = await browser.clock.until(Promise.allSettled(calls.map((call) => call.save())));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    expect(await tabs[0]?.counts()).toEqual({ pending: 10 });
  });
});

describe("pruning", () => {
  /** So many that are long over. */
  async function over(count: number, store = createWatchedStore()) {
    const app = createTestSdk({ operations, store: store.store, keepFor: "1d", rememberIntents: "10d" });
    const sends = Array.from({ length: count }, (_, amount) =>
      app.sdk.operation("transfer", { amount }, { intent: `order-${amount}` }).send(),
    );
    await app.until(Promise.all(sends));
    await app.advance("2d");
    return { app, store };
  }

  test("what comes up meanwhile goes first, and the pruning goes on when it is done", async () => {
    const { app, store } = await over(120);
    const begun = app.server.effects.length;
    let pruned = 0;
    store.break("update", async (run) => {
      pruned += 1;
      // In the middle of it.
      if (pruned === 40) void app.sdk.operation("transfer", { amount: 1 }).save();
      return run();
    });
    app.sdk.on("attempt", () => {
      expect(pruned).toBeLessThan(120);
      store.mend("update");
    });
    app.sdk.start();
    await app.advance("1m");
    expect(app.server.effects).toHaveLength(begun + 1);
    const kept = [];
    for await (const record of app.sdk.list()) if (record.hash === undefined) kept.push(record);
    expect(kept).toHaveLength(1);
  });

  test("all are forgotten in the end, in steps that are small whatever their number", async () => {
    const { app, store } = await over(120);
    const steps: number[] = [];
    expect(await app.until(app.sdk.prune({ onProgress: (so) => steps.push(so) }))).toBe(120);
    expect(Math.max(...steps.map((so, i) => so - (steps[i - 1] ?? 0)))).toBeLessThanOrEqual(50);
    store.log.length = 0;
    expect(await app.until(app.sdk.prune()), "nothing is left to do").toBe(0);
    expect(
      store.log.filter((line) => line.startsWith("update")),
      "and nothing is gone through for it",
    ).toEqual([]);
    await app.advance("10d");
    expect(await app.until(app.sdk.prune())).toBe(120);
    expect(await app.sdk.counts()).toEqual({});
  });

  test("prune keeps to other times when told to, and ends between two steps when told to", async () => {
    const { app } = await over(100);
    expect(await app.until(app.sdk.prune({ keepFor: "30d" }))).toBe(0);
    const ending = new AbortController();
    const some = await app.until(app.sdk.prune({ signal: ending.signal, onProgress: () => ending.abort() }));
    expect(some).toBeGreaterThan(0);
    expect(some).toBeLessThan(100);
    expect(await app.until(app.sdk.prune({ keepFor: 0, rememberIntents: 0 }))).toBe(100);
    expect(await app.sdk.counts()).toEqual({});
  });

  test("I4 what has been taken up again since it was found is kept", async () => {
    const store = createWatchedStore();
    const app = createTestSdk({ operations, store: store.store, keepFor: "1d" });
    app.server.script(lose.response());
    const sending = app.sdk.operation("transfer", { amount: 1 }).send({ wait: 1 });
    const { id } = (await app.until(fate(sending))) as { id: string };
    app.crash();
    await app.sdk.discard(id, { reason: "it took too long" });
    await app.advance("2d");
    // The server's word comes late, between the finding and the removing.
    const answer = { state: "succeeded", resolution: undefined, settledAt: app.clock.now(), delivered: false } as const;
    const listed: OperationRecord[] = [];
    store.break("prunable", async (run) => {
      const found = (await run()) as OperationRecord[];
      if (found.length > 0) await store.store.update(id, (record) => ({ ...record, ...answer }));
      listed.push(...found);
      return found;
    });
    await app.until(app.sdk.prune());
    expect(listed).toMatchObject([{ id }]);
    expect(await app.sdk.get(id)).toMatchObject(answer);
  });

  test("two who prune at once write each thing once", async () => {
    const { app } = await over(40);
    const before = await collect(app.sdk.list());
    await app.until(Promise.all([app.sdk.prune(), app.sdk.prune()]));
    const after = await collect(app.sdk.list());
    expect(after.map(({ hash }) => typeof hash)).toEqual(Array(40).fill("string"));
    expect(after.map(({ rev }) => rev)).toEqual(before.map(({ rev }) => rev + 1));
  });

  test.each([
    ["an hour", 30 * 86_400_000, 3_600_000],
    ["a quarter of what is kept, where that is less", 20_000, 5_000],
    ["a second, if nothing is kept at all", 0, 1_000],
  ])("who is never idle prunes all the same, once it is overdue by %s", async (_, keepFor, every) => {
    const { app, store } = await over(40);
    const { clock } = createBrowser();
    let now = clock.now();
    const janitor = new Janitor({
      journal: { open: async () => store.store, update: store.store.update },
      options: { keepFor, rememberIntents: 1, clock: { now: () => now + 1e12, sleep: clock.sleep } },
      platform: { digest: async () => "fnv:0" },
    });
    const left = async () => (await app.sdk.counts()).succeeded ?? 0;
    for (const later of [0, 1, 0.5]) {
      now += later * every;
      await janitor.hurry(now);
      expect(await left()).toBe(40);
    }
    now += every;
    await janitor.hurry(now);
    expect(await left()).toBeLessThan(40);
    while ((await left()) > 0) await janitor.hurry(now);
  });
});

describe("room", () => {
  const MiB = 1024 * 1024;

  test("tells once when it runs short, and again only after there was more", async () => {
    let figures = { usage: 10 * MiB, quota: 100 * MiB, persisted: true };
    const inner = memoryStore();
    const roomy = new Proxy(inner, {
      get: (target, name: keyof typeof inner) => {
        if (name === "storage") return async () => figures;
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const lines: string[] = [];
    const app = createTestSdk({ operations, store: roomy, log: ({ message }) => lines.push(message) });
    const told: unknown[] = [];
    app.sdk.on("storagelow", (event) => told.push(event));
    expect(await app.until(app.sdk.storage())).toEqual({ durable: false, ...figures });
    expect(told).toEqual([]);
    figures = { ...figures, usage: 90 * MiB };
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.until(app.sdk.storage());
    expect(told, "at the first save").toEqual([{ name: app.sdk.name, ...figures }]);
    expect(lines).toEqual([expect.stringContaining("little room left")]);
    figures = { ...figures, usage: 10 * MiB };
    await app.until(app.sdk.storage());
    figures = { ...figures, usage: 2000 * MiB, quota: 2100 * MiB };
    await app.until(app.sdk.storage());
    expect(told, "less than a tenth of what is used").toHaveLength(2);
  });

  test("a store that cannot tell says only whether it lasts", async () => {
    const app = createTestSdk({ operations });
    expect(await app.until(app.sdk.storage())).toEqual({ durable: false });
  });
});
