import { post, type Snapshot } from "samekey";
import { createTestSdk, delay, lose, status, unauthorized } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { collect, createBrowser, createWatchedStore, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers"), refund: post<Transfer>("/refunds") };
const order = { intent: "order-1" };

describe("snapshots", () => {
  test("tell of every step, frozen, and the same object until something changes", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response());
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const seen: Snapshot[] = [];
    const note = () => {
      const snapshot = handle.getSnapshot();
      expect(handle.getSnapshot()).toBe(snapshot);
      expect(Object.isFrozen(snapshot)).toBe(true);
      if (seen.at(-1) !== snapshot) seen.push(snapshot);
    };
    note();
    handle.subscribe(note);
    await app.until(handle.send());
    await app.advance(0);
    expect(seen.map(({ state, attempts, mayHaveBeenApplied }) => [state, attempts, mayHaveBeenApplied])).toEqual([
      ["idle", 0, false],
      ["pending", 1, true],
      ["pending", 1, true],
      ["pending", 2, true],
      ["succeeded", 2, false],
      ["succeeded", 2, false],
    ]);
    expect(seen[0]).toEqual({
      id: seen[1]?.id,
      name: "transfer",
      intent: "order-1",
      state: "idle",
      input: { amount: 1 },
      attempts: 0,
      nextAttemptAt: undefined,
      offline: false,
      mayHaveBeenApplied: false,
      outcome: undefined,
    });
    expect(seen[2]?.nextAttemptAt).toBeGreaterThanOrEqual(app.server.calls[0]?.at ?? 0);
    const { outcome } = seen.at(-1) as Snapshot;
    expect(outcome).toMatchObject({ state: "succeeded", result: { data: { id: "1" }, source: "replayed" } });
    expect(Object.isFrozen(outcome)).toBe(true);
    expect(handle.getSnapshot()).toBe(seen.at(-1));
  });

  test("what was blocked and goes on has no outcome any more", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response(), status(404));
    const handle = app.sdk.operation("transfer", { amount: 1 });
    handle.subscribe(() => {});
    const { id } = (await app.until(fate(handle.send()))) as { id: string };
    await app.advance(0);
    expect(handle.getSnapshot()).toMatchObject({ state: "blocked", outcome: { state: "blocked" } });
    await app.until(app.sdk.retry(id));
    expect(handle.getSnapshot()).toMatchObject({ state: "pending", outcome: undefined });
  });

  test("who subscribes to what nobody watched is shown what came of it meanwhile", async () => {
    const app = createTestSdk({ operations });
    app.server.script(unauthorized());
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    const { id } = (await app.until(fate(handle.send()))) as { id: string };
    expect(handle.getSnapshot()).toMatchObject({ state: "blocked" });
    await app.until(app.sdk.retry(id).then(() => app.sdk.resume()));
    const seen: string[] = [];
    handle.subscribe(() => seen.push(handle.getSnapshot().state));
    await app.advance(0);
    expect(new Set(seen)).toEqual(new Set(["succeeded"]));
    expect(handle.getSnapshot()).toMatchObject({ outcome: { state: "succeeded", result: { data: { id: "1" } } } });
  });

  test("a refusal that speaks for the key after doubt was not applied", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.request());
    app.server.on("POST", "/transfers", () => Response.json({}, { status: 402 }));
    const handle = app.sdk.operation("transfer", { amount: 1 });
    expect(await app.until(fate(handle.send()))).toMatchObject({ code: "rejected" });
    expect(handle.getSnapshot()).toMatchObject({ state: "rejected", mayHaveBeenApplied: false });
  });

  test("an unsubscribed listener hears nothing more; two are two", async () => {
    const app = createTestSdk({ operations });
    const handle = app.sdk.operation("transfer", { amount: 1 });
    let one = 0;
    let two = 0;
    const stop = handle.subscribe(() => one++);
    handle.subscribe(() => two++);
    stop();
    await app.until(handle.send());
    expect([one, two > 0]).toEqual([0, true]);
  });

  test("of a wrong call: idle, and a subscription does no harm", async () => {
    const app = createTestSdk({ operations });
    const handle = app.sdk.operation("nope" as "transfer", { amount: 1 });
    handle.subscribe(() => {})();
    expect(handle.getSnapshot()).toMatchObject({ state: "idle", id: undefined });
    for (const call of [handle.save(), handle.send(), handle.cancel()]) {
      expect(await fate(call as Promise<unknown>)).toMatchObject({
        code: "unknown_operation",
        message: expect.stringContaining("transfer"),
      });
    }
    expect(await handle.outcome()).toMatchObject({ state: "unsaved", error: { code: "unknown_operation" } });
  });

  test("online and offline are told to who watches", async () => {
    const app = createTestSdk({ operations });
    app.offline(true);
    const handle = app.sdk.operation("transfer", { amount: 1 });
    let told = 0;
    handle.subscribe(() => told++);
    expect(handle.getSnapshot().offline).toBe(true);
    app.offline(false);
    expect(told).toBe(1);
    expect(handle.getSnapshot().offline).toBe(false);
  });
});

describe("attach", () => {
  test("by id and by intent, after a reload: state, outcome and result", async () => {
    const app = createTestSdk({ operations });
    const { id, data } = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.reload();
    for (const handle of [app.sdk.attach(id), app.sdk.attach({ name: "transfer", ...order })]) {
      handle.subscribe(() => {});
      await app.advance(0);
      expect(handle.getSnapshot()).toMatchObject({
        id,
        state: "succeeded",
        input: { amount: 1 },
        outcome: { state: "succeeded", result: { source: "store" } },
      });
      expect(await app.until(handle.send())).toMatchObject({ id, data, source: "store" });
    }
    expect(app.server.calls).toHaveLength(1);
  });

  test("to a pending one: send drives it under its key, cancel withdraws it", async () => {
    const app = createTestSdk({ operations });
    const saved = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).save());
    const other = await app.until(app.sdk.operation("transfer", { amount: 2 }).save());
    await app.reload();
    const sent = await app.until(app.sdk.attach({ name: "transfer", ...order }).send());
    expect(sent).toMatchObject({ key: saved.key, source: "executed" });
    expect(await app.until(app.sdk.attach(other.id).cancel())).toMatchObject({ state: "canceled" });
  });

  test("to what is not there: unknown_operation, until it is", async () => {
    const app = createTestSdk({ operations });
    const handle = app.sdk.attach({ name: "transfer", ...order });
    expect(handle.getSnapshot().state).toBe("idle");
    expect(await app.until(fate(handle.send()))).toMatchObject({
      code: "unknown_operation",
      message: expect.stringContaining('nothing is recorded for `transfer`, intent "order-1", owner "single".'),
    });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(await app.until(handle.send())).toMatchObject({ source: "store" });
  });

  test("to another owner's only when told so", async () => {
    const session = { user: "ada" };
    const app = createTestSdk({ operations, owner: () => session.user });
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    session.user = "bob";
    expect(await app.until(fate(app.sdk.attach(id).save()))).toMatchObject({ code: "unknown_operation" });
    expect(await app.until(app.sdk.attach(id, { owner: "ada" }).save())).toMatchObject({ id });
    expect(await app.until(app.sdk.attach({ name: "transfer", ...order, owner: "ada" }).save())).toMatchObject({ id });
  });

  test("reads the result with the operation's schema", async () => {
    const result = z.object({ id: z.string().transform((id) => `receipt ${id}`) });
    const app = createTestSdk({ operations: { transfer: post("/transfers", { result }) } });
    const { id } = await app.until(app.sdk.operation("transfer").send());
    await app.reload();
    expect(await app.until(app.sdk.attach(id).send())).toMatchObject({ data: { id: "receipt 1" } });
  });
});

describe("across tabs", () => {
  test("a handle in one follows what happens in the other", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations }), browser.open({ operations })];
    browser.server.script(delay("5s"));
    const sending = one.operation("transfer", { amount: 1 }, order).send();
    await browser.clock.advance(10);
    const handle = two.attach({ name: "transfer", ...order });
    const states: string[] = [];
    handle.subscribe(() => states.push(handle.getSnapshot().state));
    await browser.clock.advance(10);
    expect(handle.getSnapshot().state).toBe("pending");
    await browser.clock.until(sending);
    await browser.clock.advance(10);
    expect(states.at(-1)).toBe("succeeded");
    expect(handle.getSnapshot().outcome).toMatchObject({ state: "succeeded" });
  });

  test("news that was overtaken is not shown", async () => {
    const browser = createBrowser();
    const watched = createWatchedStore(browser.store);
    const [one, two] = [browser.open({ operations }), browser.open({ operations, store: watched.store })];
    const { id } = await browser.clock.until(one.operation("transfer", { amount: 1 }).save());
    const handle = two.attach(id);
    handle.subscribe(() => {});
    await browser.clock.advance(10);
    watched.break("get", async (run) => {
      const read = await run();
      await browser.clock.sleep(1000);
      return read;
    });
    await browser.clock.until(one.retry(id));
    await browser.clock.until(two.cancel(id));
    await browser.clock.advance("2s");
    expect(handle.getSnapshot().state).toBe("canceled");
  });

  test("a store that fails when news comes breaks nothing", async () => {
    const browser = createBrowser();
    const watched = createWatchedStore(browser.store);
    const one = browser.open({ operations });
    const two = browser.open({ operations, store: watched.store });
    two.pending.subscribe(() => {});
    await browser.clock.advance(10);
    watched.break("get", async () => Promise.reject(new Error("not now")));
    await browser.clock.until(one.operation("transfer", { amount: 1 }).send());
    await browser.clock.advance(10);
    watched.mend("get");
    await browser.clock.until(one.operation("transfer", { amount: 2 }).save());
    await browser.clock.advance(10);
    expect(two.pending.getSnapshot()).toHaveLength(1);
  });
});

test("what another process has done meanwhile is seen by the next send, although it could not tell", async () => {
  const store = createWatchedStore().store;
  const here = createTestSdk({ operations, store });
  const there = createTestSdk({ operations, store, clock: here.clock, server: here.server });
  here.server.script(lose.response(), status(404));
  const handle = here.sdk.operation("transfer", { amount: 1 }, order);
  const error = (await here.until(fate(handle.send()))) as { code: string; id: string };
  expect(error.code).toBe("blocked");
  await here.until(there.sdk.retry(error.id));
  await here.until(there.sdk.attach(error.id).send());
  expect(await here.until(handle.send())).toMatchObject({ id: error.id, data: { id: "1" } });
  expect(here.server.effects).toHaveLength(1);
});

describe("sdk.pending", () => {
  test("lists what is pending, blocked or unresolved, oldest first; what does not change stays the same object", async () => {
    const app = createTestSdk({ operations, retry: { attempts: 2 } });
    let told = 0;
    app.sdk.pending.subscribe(() => told++);
    await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    app.server.script(unauthorized(), lose.response({ times: 2 }), status(402));
    await app.until(fate(app.sdk.operation("transfer", { amount: 2 }).send()));
    await app.until(fate(app.sdk.operation("transfer", { amount: 3 }).send()));
    await app.until(fate(app.sdk.operation("transfer", { amount: 4 }).send()));
    const list = app.sdk.pending.getSnapshot();
    expect(list.map(({ state, input }) => [state, input])).toEqual([
      ["pending", { amount: 1 }],
      ["blocked", { amount: 2 }],
      ["unresolved", { amount: 3 }],
    ]);
    expect(Object.isFrozen(list)).toBe(true);
    expect(app.sdk.pending.getSnapshot()).toBe(list);
    const before = told;
    await app.until(app.sdk.operation("transfer", { amount: 5 }, { owner: "someone else" }).save());
    expect(told).toBe(before);
    expect(app.sdk.pending.getSnapshot()).toBe(list);
    expect(list[0]).toMatchObject({ name: "transfer", intent: undefined });
    await app.until(app.sdk.discard(list[2]?.id ?? "", { reason: "x" }));
    expect(app.sdk.pending.getSnapshot()).toHaveLength(2);
    expect(app.sdk.pending.getSnapshot()[0]).toBe(list[0]);
  });

  test("is loaded from the store, and follows the owner", async () => {
    const session = { user: "ada" as string | undefined };
    const app = createTestSdk({ operations, owner: () => session.user });
    await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    session.user = "bob";
    await app.until(app.sdk.operation("transfer", { amount: 2 }).save());
    await app.reload();
    app.sdk.pending.subscribe(() => {});
    await app.advance(0);
    expect(app.sdk.pending.getSnapshot().map(({ input }) => input)).toEqual([{ amount: 2 }]);
    session.user = "ada";
    await app.sdk.counts();
    await app.advance(0);
    expect(app.sdk.pending.getSnapshot().map(({ input }) => input)).toEqual([{ amount: 1 }]);
    session.user = undefined;
    await app.sdk.counts();
    expect(app.sdk.pending.getSnapshot()).toEqual([]);
  });

  test("is empty again when nobody listens: whoever looks next may be someone else", async () => {
    const app = createTestSdk({ operations });
    const stop = app.sdk.pending.subscribe(() => {});
    await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    expect(app.sdk.pending.getSnapshot()).toHaveLength(1);
    stop();
    expect(app.sdk.pending.getSnapshot()).toEqual([]);
    app.sdk.pending.subscribe(() => {});
    await app.advance(0);
    expect(app.sdk.pending.getSnapshot()).toHaveLength(1);
  });
});

describe("reading", () => {
  test("list pages through everything, narrowed as asked; counts; get; find", async () => {
    const app = createTestSdk({ operations });
    for (let amount = 0; amount < 250; amount++) void app.sdk.operation("transfer", { amount }).save();
    await app.until(app.sdk.operation("refund", { amount: 1 }, { ...order, lane: "l" }).send());
    const all = await collect(app.sdk.list());
    expect(all).toHaveLength(251);
    expect(all.map(({ seq }) => seq)).toEqual([...all.map(({ seq }) => seq)].sort((a, b) => a - b));
    expect(await collect(app.sdk.list({ name: "refund" }))).toHaveLength(1);
    expect(await collect(app.sdk.list({ states: ["succeeded"] }))).toHaveLength(1);
    expect(await collect(app.sdk.list({ ...order, lane: "l" }))).toHaveLength(1);
    expect(await collect(app.sdk.list({ owner: "nobody" }))).toEqual([]);
    expect(await app.sdk.counts()).toEqual({ pending: 250, succeeded: 1 });
    expect(await app.sdk.counts({ owner: "*" })).toEqual({ pending: 250, succeeded: 1 });
    const found = await app.sdk.find({ name: "refund", ...order });
    expect(await app.sdk.get(found?.id ?? "")).toEqual(found);
    expect(await app.sdk.get("nobody")).toBeUndefined();
    expect(await app.sdk.find({ name: "transfer", ...order })).toBeUndefined();
  });
});

describe("events", () => {
  const names = ["saved", "attempt", "retry", "blocked", "settled", "unresolved"] as const;

  test.each([
    ["a success after a failure", [lose.response()], ["saved", "attempt", "retry", "attempt", "settled"]],
    ["a sign-in", [unauthorized()], ["saved", "attempt", "blocked"]],
    ["a refusal", [status(402)], ["saved", "attempt", "settled"]],
    ["an unknown outcome", [lose.response({ times: 9 })], ["saved", "attempt", "retry", "attempt", "unresolved"]],
  ] as const)("of %s, in order", async (_, faults, expected) => {
    const app = createTestSdk({ operations, retry: { attempts: 2 } });
    app.server.script(...faults);
    const told: string[] = [];
    for (const name of names) app.sdk.on(name, (record) => told.push(`${name}${record.id ? "" : "?"}`));
    const stop = app.sdk.on("saved", () => told.push("never"));
    stop();
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
    expect(told).toEqual(expected);
  });

  test("a listener that throws harms nobody and is logged; an unknown event is told", async () => {
    const logged: unknown[] = [];
    const app = createTestSdk({ operations, log: (entry) => logged.push(entry) });
    const boom = new Error("a bug of the app");
    app.sdk.on("saved", () => {
      throw boom;
    });
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(logged).toContainEqual({ level: "error", message: "a listener failed", cause: boom });
    expect(() => app.sdk.on("nope" as "saved", () => {})).toThrow(/storereset/);
  });

  test("an `owner` that throws while the list looks at a new record does not undo its recording", async () => {
    const session: { user?: string } = { user: "ada" };
    const owner = () => {
      if (session.user === undefined) throw new TypeError("there is no session");
      return session.user;
    };
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, owner, store: watched.store });
    app.sdk.pending.subscribe(() => {});
    await app.advance(0);
    watched.break("insert", async (run) => {
      await app.clock.sleep(100);
      return run();
    });
    const saving = app.sdk.operation("transfer", { amount: 1 }).save();
    await app.advance(50);
    delete session.user;
    expect(await app.until(saving)).toMatchObject({ state: "pending", owner: "ada" });
  });

  test("I2 whatever is done to the bytes of a snapshot's input: the same bytes are sent again", async () => {
    const app = createTestSdk({ operations: { upload: post<Uint8Array>("/files") } });
    app.server.script(status(503));
    const handle = app.sdk.operation("upload", new Uint8Array([1, 2, 3]));
    const sending = handle.send();
    await app.advance(0);
    new Uint8Array(handle.getSnapshot().input as ArrayBuffer).fill(9);
    await app.until(sending);
    expect(app.server.calls.map((call) => [...call.body])).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  test("a subscriber that throws, or a log that does, harms nobody", async () => {
    const app = createTestSdk({
      operations,
      log: () => {
        throw new Error("a bug of the log");
      },
    });
    app.server.script(lose.response());
    const handle = app.sdk.operation("transfer", { amount: 1 });
    let told = 0;
    for (const subject of [handle, app.sdk.pending]) {
      subject.subscribe(() => {
        throw new Error("a bug of the app");
      });
      subject.subscribe(() => told++);
    }
    expect(await app.until(handle.send())).toMatchObject({ source: "replayed" });
    expect(told).toBeGreaterThan(4);
  });

  test("storereset when the store says that it was evicted", async () => {
    const store = Object.assign(createWatchedStore().store, { reset: true });
    const app = createBrowser();
    const sdk = app.open({ operations, store });
    const told: unknown[] = [];
    sdk.on("storereset", (detail) => told.push(detail));
    await sdk.counts();
    await sdk.counts();
    expect(told).toEqual([{ name: "test" }]);
  });
});
