import { post } from "samekey";
import { createTestSdk, delay, lose, status, unauthorized } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { collect, createBrowser, createWatchedStore, failing, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const order = { intent: "order-1" };

function createSession(user: string | undefined = "ada") {
  const session: { user: string | undefined } = { user };
  return { session, owner: () => session.user };
}

describe("I9 only as the owner who recorded it", () => {
  test("F54 the owner changes while headers() is pending: not sent; the new one's headers are never used for it", async () => {
    const { session, owner } = createSession();
    const asked: string[] = [];
    const app = createTestSdk({
      operations,
      owner,
      headers: async (context) => {
        asked.push(context.owner);
        await app.clock.sleep(1000);
        return { authorization: `Bearer ${context.owner}` };
      },
    });
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(500);
    session.user = "bob";
    expect(await app.until(sending)).toMatchObject({ code: "blocked" });
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(0);
    expect(await app.store.page({})).toMatchObject([{ owner: "ada", state: "pending" }]);
    expect((await app.store.page({}))[0]?.uncertainSince).toBeUndefined();
    // Ada is back.
    session.user = "ada";
    expect(await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send())).toMatchObject({
      source: "executed",
    });
    expect(new Set(asked)).toEqual(new Set(["ada"]));
  });

  test("F54 queued offline by one, drained under another: parked, not sent, not shown", async () => {
    const { session, owner } = createSession();
    const app = createTestSdk({ operations, owner });
    app.sdk.start();
    app.offline(true);
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("1s");
    await app.until(app.sdk.signOut());
    expect(await app.until(sending)).toMatchObject({ code: "blocked" });
    session.user = "bob";
    app.offline(false);
    await app.advance("1h");
    const report = await app.until(app.sdk.resume());
    expect(report).toMatchObject({ succeeded: 0, remaining: 0 });
    expect(app.server.calls).toHaveLength(0);
    const [record] = await app.store.page({});
    expect(await app.sdk.get(record?.id ?? "")).toBeUndefined();
    expect(await app.sdk.find({ name: "transfer", ...order })).toBeUndefined();
    expect(await collect(app.sdk.list())).toEqual([]);
    expect(await app.sdk.counts()).toEqual({});
    expect(app.sdk.pending.getSnapshot()).toEqual([]);
    // Told otherwise, it is there.
    expect(await app.sdk.get(record?.id ?? "", { owner: "ada" })).toMatchObject({ owner: "ada" });
    expect(await app.sdk.find({ name: "transfer", ...order, owner: "ada" })).toMatchObject({ owner: "ada" });
    expect(await collect(app.sdk.list({ owner: "*" }))).toHaveLength(1);
    expect(await app.sdk.counts({ owner: "ada" })).toEqual({ pending: 1 });
    session.user = "ada";
    await app.advance("2m");
    expect(app.server.effects).toHaveLength(1);
  });

  test.each([undefined, null])("owner() answering %s: nothing is recorded or sent", async (nobody) => {
    const app = createTestSdk({ operations, owner: () => nobody });
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).save()))).toMatchObject({
      code: "bad_option",
    });
    app.sdk.start();
    await app.advance("1h");
    expect(await app.store.page({})).toEqual([]);
    expect(await app.until(app.sdk.resume())).toMatchObject({ remaining: 0 });
  });

  test("an id that another owner has used is not joined, and tells nothing of his operation", async () => {
    const { session, owner } = createSession();
    const app = createTestSdk({ operations, owner });
    app.server.script(lose.response());
    const sending = app.sdk.operation("transfer", { amount: 1 }, { id: "op-1", owner: "ada" }).send();
    await app.advance(0);
    session.user = "bob";
    const handle = app.sdk.operation("transfer", { amount: 1 }, { id: "op-1" });
    handle.subscribe(() => {});
    await app.until(sending);
    const error = await app.until(fate(handle.send()));
    expect(error).toMatchObject({ code: "bad_option", record: undefined });
    expect(handle.getSnapshot()).toMatchObject({ state: "idle", attempts: 0 });
  });

  test("adopt, discard and reconcile wait for the end of an attempt, also when another's clock has ended its lease", async () => {
    const browser = createBrowser();
    const asked: string[] = [];
    const app = browser.open({
      operations,
      owner: () => "ada",
      headers: async (context) => {
        asked.push(context.owner);
        await browser.clock.sleep(5_000);
        return {};
      },
    });
    const sending = fate(app.operation("transfer", { amount: 1 }, { id: "op-1" }).send());
    await browser.clock.advance(1_000);
    // As whoever's clock is an hour ahead claims it, and leaves it.
    await browser.store.update("op-1", (record) => ({
      ...record,
      lease: undefined,
      mark: undefined,
      uncertainSince: 1,
    }));
    for (const decision of [
      () => app.adopt("op-1", "bob"),
      () => app.discard("op-1", { reason: "too late" }),
      () => app.reconcile("op-1", "not-applied"),
    ]) {
      expect(await browser.clock.until(fate(decision()))).toMatchObject({
        code: "in_flight",
        record: { owner: "ada" },
      });
    }
    void sending;
    await browser.clock.advance(5_000);
    expect(asked).toEqual(["ada"]);
    expect(await browser.store.get("op-1")).toMatchObject({ owner: "ada", resolution: undefined });
  });

  test("what is heard of a purged operation is not told of the next one of its id", async () => {
    const browser = createBrowser();
    const [first, second] = [browser.open({ operations }), browser.open({ operations })];
    browser.server.script(delay("10s"));
    void fate(first.operation("transfer", { amount: 1 }, { id: "op-1" }).send());
    await browser.clock.advance(2_000);
    await browser.clock.until(second.purge("single"));
    const next = second.operation("transfer", { amount: 2 }, { id: "op-1", deadline: "1d" });
    const { key } = await browser.clock.until(next.save());
    await browser.clock.advance(20_000);
    const record = await browser.store.get("op-1");
    const isDone = browser.server.effects.some((effect) => effect.key === key);
    expect({ ...record }).toMatchObject({ key, state: isDone ? "succeeded" : "pending" });
  });

  test("a handle that outlives its owner's session records nothing for him", async () => {
    const { session, owner } = createSession();
    const app = createTestSdk({ operations, owner });
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    for (const user of ["bob", undefined]) {
      session.user = user;
      expect(await app.until(fate(handle.send()))).toMatchObject({ name: "MisuseError", code: "bad_option" });
    }
    expect(await app.store.page({}).catch(() => [])).toEqual([]);
    session.user = "ada";
    expect(await app.until(handle.send())).toMatchObject({ source: "executed" });
  });

  test("an explicit owner on a server: sent as he is, to its end, and nobody else's", async () => {
    const asked: string[] = [];
    const app = createTestSdk({
      operations,
      owner: () => undefined,
      headers: ({ owner }) => {
        asked.push(owner);
        return {};
      },
    });
    app.server.script(lose.response());
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { owner: "bob" }).save());
    const handle = app.sdk.operation("transfer", { amount: 1 }, { owner: "ada" });
    // The waiter is gone before it is done; the operation goes on all the same.
    expect(await app.until(fate(handle.send({ wait: 1 })))).toMatchObject({ code: "pending" });
    await app.advance("5m");
    expect(asked).toEqual(["ada", "ada"]);
    expect(app.server.effects).toHaveLength(1);
    expect(await app.store.counts("bob")).toEqual({ pending: 1 });
  });

  test('resume({ owner: "*" }) sends each as its recorded owner', async () => {
    const asked: string[] = [];
    const app = createTestSdk({
      operations,
      owner: () => undefined,
      headers: ({ owner }) => {
        asked.push(owner);
        return {};
      },
    });
    for (const owner of ["ada", "bob", "eve"]) {
      await app.until(app.sdk.operation("transfer", { amount: 1 }, { owner }).save());
    }
    expect(await app.until(app.sdk.resume({ owner: "bob" }))).toMatchObject({ succeeded: 1, remaining: 0 });
    expect(asked).toEqual(["bob"]);
    expect(await app.until(app.sdk.resume({ owner: "*" }))).toMatchObject({ succeeded: 2, remaining: 0 });
    expect(asked).toEqual(["bob", "ada", "eve"]);
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { owner: "ada" }).save());
    await app.advance("1h");
    expect(asked).toHaveLength(3);
  });

  test("ownerchange is told, once for each change", async () => {
    const { session, owner } = createSession();
    const app = createTestSdk({ operations, owner });
    const told: unknown[] = [];
    app.sdk.on("ownerchange", (change) => told.push(change));
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    session.user = "bob";
    await app.sdk.counts();
    await app.sdk.counts();
    session.user = undefined;
    await app.sdk.counts();
    expect(told).toEqual([
      { owner: "bob", previous: "ada" },
      { owner: undefined, previous: "bob" },
    ]);
  });
});

describe("signOut", () => {
  test("F54 that is to purge when nobody is signed in any more says so: it would leave everything", async () => {
    const { session, owner } = createSession();
    const app = createTestSdk({ operations, owner });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).save());
    session.user = undefined;
    await expect(app.sdk.signOut({ purge: true })).rejects.toMatchObject({ code: "bad_option" });
    await app.sdk.signOut();
    expect(await app.until(app.sdk.purge("ada"))).toBe(1);
  });

  test("during an attempt: it is stopped, the waiter told, and what it may have done counts as uncertain", async () => {
    const { session, owner } = createSession();
    const app = createTestSdk({ operations, owner });
    app.server.script(delay("10s"));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("1s");
    await app.until(app.sdk.signOut());
    expect(await app.until(sending, 0)).toMatchObject({ code: "blocked" });
    session.user = undefined;
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(1);
    const [record] = await app.store.page({});
    expect(record).toMatchObject({ state: "pending", owner: "ada" });
    expect(record?.uncertainSince).toBeDefined();
    session.user = "ada";
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(result.source).toBe("replayed");
  });

  test("holds although the program still shows the old session, and looking does not end it", async () => {
    const { owner } = createSession();
    const app = createTestSdk({ operations, owner });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).save());
    app.sdk.start();
    const signedOut = app.sdk.signOut();
    app.sdk.operation("transfer", { amount: 1 }, order).getSnapshot();
    await app.until(signedOut);
    app.sdk.operation("transfer", { amount: 1 }, order).subscribe(() => {});
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(0);
    // A send is a new session.
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    expect(app.server.effects).toHaveLength(1);
  });

  test("does its work although the store is broken", async () => {
    const { owner } = createSession();
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, owner, store: watched.store });
    app.server.script(delay("10s"));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("1s");
    for (const verb of ["open", "get", "update"] as const) watched.break(verb, async () => new Promise(() => {}));
    await app.until(app.sdk.signOut(), 0);
    expect(await app.until(sending, 0)).toMatchObject({ code: "blocked" });
  });

  test("in another tab: its attempts stop too, even where that tab has recorded nothing", async () => {
    const browser = createBrowser();
    const { owner } = createSession();
    const one = browser.open({ operations, owner });
    const two = browser.open({ operations, owner });
    browser.server.script(delay("10s"));
    const sending = fate(one.operation("transfer", { amount: 1 }, order).send());
    await browser.clock.advance("1s");
    await browser.clock.until(two.signOut());
    expect(await browser.clock.until(sending, 10)).toMatchObject({ code: "blocked" });
    await browser.clock.advance("1h");
    expect(browser.server.calls).toHaveLength(1);
  });

  test("of somebody else, heard from another tab, does not bring a session back that is over here", async () => {
    const browser = createBrowser();
    const one = browser.open({ operations, owner: () => "ada" });
    const two = browser.open({ operations, owner: () => "bob" });
    await browser.clock.until(one.operation("transfer", { amount: 1 }, order).save());
    one.start();
    await browser.clock.until(one.signOut());
    await browser.clock.until(two.counts());
    await browser.clock.until(two.signOut());
    await browser.clock.advance("1h");
    expect(browser.server.calls).toHaveLength(0);
  });

  test("with purge leaves nothing of his, and nothing is written back", async () => {
    const { owner, session } = createSession();
    const app = createTestSdk({ operations, owner });
    app.sdk.start();
    app.server.script(delay("10s"));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    const parked = fate(app.sdk.operation("transfer", { amount: 2 }).save());
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { owner: "bob" }).save());
    await app.advance("1s");
    await app.until(app.sdk.signOut({ purge: true }));
    session.user = undefined;
    await app.until(Promise.all([sending, parked]));
    await app.advance("1h");
    expect(await app.store.page({ owner: "ada" })).toEqual([]);
    expect(await app.store.page({})).toHaveLength(1);
    expect(app.server.calls).toHaveLength(2);
  });
});

test("F54 a second sign-out of one owner ends what was begun for him by name after the first", async () => {
  const { owner } = createSession("ada");
  const app = createTestSdk({ operations, owner });
  await app.until(app.sdk.signOut());
  app.server.script(delay("10s"));
  const sending = fate(app.sdk.operation("transfer", { amount: 1 }, { owner: "ada" }).send());
  await app.advance(1_000);
  expect(app.server.calls).toHaveLength(1);
  await app.until(app.sdk.signOut());
  expect(await app.until(sending)).toMatchObject({ code: "blocked" });
  await app.advance(60_000);
  expect(app.server.calls).toHaveLength(1);
});

describe("purge", () => {
  test("leaves what another owner adopts while it runs", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, owner: () => "ada", store: watched.store });
    await app.until(app.sdk.operation("transfer", { amount: 1 }, { id: "op-1" }).save());
    await app.until(app.sdk.operation("transfer", { amount: 2 }, { id: "op-2" }).save());
    watched.break("page", async (run) => {
      watched.mend("page");
      const listed = await run();
      await app.sdk.adopt("op-1", "bob");
      return listed;
    });
    expect(await app.until(app.sdk.purge("ada"))).toBe(1);
    expect(await watched.store.get("op-1")).toMatchObject({ owner: "bob", state: "pending" });
    expect(await watched.store.get("op-2")).toBeUndefined();
  });

  test("during an attempt: the waiter is told that its outcome is unknown; the answer is not written back", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("10s"));
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance("1s");
    expect(await app.until(app.sdk.purge("single"))).toBe(1);
    expect(await app.until(sending, 0)).toMatchObject({ name: "UnknownOutcomeError", code: "discarded" });
    await app.advance("1h");
    expect(await app.store.page({})).toEqual([]);
  });

  test("during an insert: it does not stay, and is not sent", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    watched.break("insert", async (run) => {
      await app.clock.sleep(200);
      return run();
    });
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(100);
    await app.until(app.sdk.purge("single"));
    expect(await app.until(sending)).toMatchObject({ code: "canceled" });
    expect(await app.store.page({})).toEqual([]);
    expect(app.server.calls).toHaveLength(0);
  });

  test("during an insert, and the store fails to remove it: not sent either", async () => {
    const watched = createWatchedStore();
    const app = createTestSdk({ operations, store: watched.store });
    watched.break("insert", async (run) => {
      await app.clock.sleep(100);
      return run();
    });
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }, order).send());
    await app.advance(50);
    await app.until(app.sdk.purge("single"));
    watched.break("update", failing("stalled"));
    expect(await app.until(sending)).toMatchObject({ code: "stalled" });
    watched.mend("update");
    app.sdk.start();
    await app.advance("10m");
    expect(app.server.calls).toHaveLength(0);
  });

  test("of one that was not sent here: who waits cannot know what others did; the list and the other tabs know", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations }), browser.open({ operations })];
    one.pending.subscribe(() => {});
    two.pending.subscribe(() => {});
    browser.device.setOffline(true);
    const sending = fate(one.operation("transfer", { amount: 1 }).send());
    await browser.clock.advance("1s");
    expect([one.pending.getSnapshot().length, two.pending.getSnapshot().length]).toEqual([1, 1]);
    await browser.clock.until(two.purge("single"));
    expect(await browser.clock.until(sending)).toMatchObject({ code: "discarded" });
    await browser.clock.advance(0);
    expect([one.pending.getSnapshot().length, two.pending.getSnapshot().length]).toEqual([0, 0]);
  });

  test("I5 of one that another has sent meanwhile: who still waits for it is not told that nothing was applied", async () => {
    const app = createTestSdk({ operations, concurrency: 1 });
    // Another process: it tells this one nothing.
    const { store, clock, server } = app;
    const other = createTestSdk({ operations, store, clock, server, seed: 2 });
    server.script(delay("5s"));
    const first = app.sdk.operation("transfer", { amount: 1 }).send();
    await app.advance(0);
    const waiting = fate(app.sdk.operation("transfer", { amount: 2 }, order).send());
    await app.advance(0);
    await app.until(other.sdk.operation("transfer", { amount: 2 }, order).send());
    await app.advance("1s");
    await app.until(other.sdk.prune({ keepFor: 0, rememberIntents: 0 }));
    await app.until(first);
    expect(await app.until(waiting)).toMatchObject({ code: "discarded" });
    expect(server.effects).toHaveLength(2);
  });
});

test("adopt hands an operation to another owner, not while an attempt is in flight", async () => {
  const { session, owner } = createSession("guest");
  const app = createTestSdk({ operations, owner });
  app.server.script(unauthorized(), delay("5s"));
  const error = await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()));
  const { id, key } = error as { id: string; key: string };
  const again = app.sdk.operation("transfer", { amount: 1 }, order).send();
  await app.advance("1s");
  expect(await app.until(fate(app.sdk.adopt(id, "ada")), 0)).toMatchObject({ code: "in_flight" });
  await app.until(again);
  app.server.script(unauthorized());
  const other = (await app.until(fate(app.sdk.operation("transfer", { amount: 2 }).send()))) as { id: string };
  session.user = "ada";
  expect(await app.until(app.sdk.adopt(other.id, "ada"))).toMatchObject({ owner: "ada", state: "blocked" });
  expect(await app.until(app.sdk.resume())).toMatchObject({ succeeded: 1 });
  expect(await app.sdk.get(other.id)).toMatchObject({ owner: "ada", state: "succeeded" });
  expect(key).not.toBe((await app.sdk.get(other.id))?.key);
  for (const wrong of ["", "*", 7]) {
    expect(await fate(app.sdk.adopt(id, wrong as string))).toMatchObject({ code: "bad_option" });
  }
});

test("the intent of an adopted operation is free again, also where a handle still shows it", async () => {
  const { owner } = createSession();
  const app = createTestSdk({ operations, owner });
  const handle = app.sdk.operation("transfer", { amount: 1 }, order);
  handle.subscribe(() => {});
  const { id } = await app.until(handle.save());
  await app.until(app.sdk.adopt(id, "bob"));
  const result = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
  expect(result).toMatchObject({ source: "executed" });
  expect(result.id).not.toBe(id);
  expect(await app.store.get(id)).toMatchObject({ owner: "bob", state: "pending" });
});

test("who was granted before a sign-out ends no grant that was given after it", async () => {
  const app = createTestSdk({ operations, owner: () => "ada" });
  app.server.script(...["10", "60"].map((wait) => status(503, { headers: { "retry-after": wait } })));
  const before = fate(app.sdk.operation("transfer", { amount: 1 }, { owner: "ada" }).send());
  await app.advance("1s");
  await app.until(app.sdk.signOut());
  expect(await before).toMatchObject({ code: "blocked" });
  expect(await app.until(app.sdk.operation("transfer", { amount: 2 }, { owner: "ada" }).send())).toMatchObject({
    source: "executed",
  });
});

test("an adopted operation is not sent with the headers of the call that recorded it", async () => {
  const { session, owner } = createSession();
  const app = createTestSdk({ operations, owner });
  app.server.script(status(503, { headers: { "retry-after": "60" } }));
  const headers = { authorization: "Bearer ada" };
  const sending = fate(app.sdk.operation("transfer", { amount: 1 }, { id: "op-1", headers }).send());
  await app.advance("1s");
  session.user = "bob";
  await app.until(app.sdk.adopt("op-1", "bob"));
  await app.advance("2m");
  await app.until(app.sdk.resume());
  expect(app.server.calls).toHaveLength(1);
  expect(await app.store.get("op-1")).toMatchObject({ owner: "bob", state: "blocked", blockedBy: "headers" });
  expect(await sending).toMatchObject({ code: "blocked" });
});
