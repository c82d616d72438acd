import { type ErrorCode, post, StoreError } from "samekey";
import { createTestSdk, lose, stall } from "samekey/testing";
import { describe, expect, test, vi } from "vitest";
import { createBrowser, createWatchedStore, failing, fate, type Receipt, type Transfer } from "./kit.js";

const operations = { transfer: post<Transfer, Receipt>("/transfers") };
const order = { intent: "order-1" };

function createApp() {
  const watched = createWatchedStore();
  return { watched, app: createTestSdk({ operations, store: watched.store }) };
}

describe("I1 durable before the first byte", () => {
  test("the record with its mark is committed before fetch is called, and again before each later attempt", async () => {
    const log: string[] = [];
    const watched = createWatchedStore();
    const app = createTestSdk({
      operations,
      store: watched.store,
      headers: () => {
        log.push(...watched.log.splice(0), "headers()");
        return {};
      },
    });
    app.server.script(lose.response());
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    const writes = log.filter((entry) => /insert|claim|update|headers/.test(entry));
    expect(writes).toEqual([
      "insert begins",
      "insert done",
      "headers()",
      "update begins",
      "update done",
      "claim begins",
      "claim done",
      "headers()",
    ]);
  });

  test("one write carries record, lease and mark, when `send` follows in the same task", async () => {
    const { app, watched } = createApp();
    const seen: unknown[] = [];
    watched.break("insert", async (run) => {
      const inserted = (await run()) as { record: { mark?: unknown; lease?: unknown; attempts: number } };
      seen.push(Boolean(inserted.record.mark && inserted.record.lease), app.server.calls.length);
      return inserted;
    });
    const handle = app.sdk.operation("transfer", { amount: 1 });
    const saved = handle.save();
    const sent = handle.send();
    expect((await app.until(saved)).state).toBe("pending");
    await app.until(sent);
    expect(seen).toEqual([true, 0]);
    expect(watched.log.filter((entry) => entry === "insert begins")).toHaveLength(1);
    expect(watched.log).not.toContain("claim begins");
  });

  test("`save` alone records, durably, and sends nothing", async () => {
    const { app } = createApp();
    const record = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).save());
    expect(record).toMatchObject({ state: "pending", attempts: 0, intent: "order-1" });
    expect(record.mark).toBeUndefined();
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(0);
  });

  test("the body is serialised in the call: what is changed afterwards changes nothing", async () => {
    const { app } = createApp();
    const body = { amount: 1 };
    const handle = app.sdk.operation("transfer", body);
    body.amount = 2;
    const sending = handle.send();
    body.amount = 3;
    await app.until(sending);
    expect(app.server.calls[0]?.text()).toBe('{"amount":1}');
    expect(handle.getSnapshot().input).toEqual({ amount: 1 });
  });
});

describe("a store that fails", () => {
  const codes: ErrorCode[] = ["not_durable", "store_full", "unavailable", "stalled", "corrupt", "newer_schema"];

  test.each(codes)("at the insert (%s): StoreError, and nothing is sent", async (code) => {
    const { app, watched } = createApp();
    watched.break("insert", failing(code as StoreError["code"]));
    const error = await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code });
    expect(app.server.calls).toHaveLength(0);
    watched.mend("insert");
    expect(await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send())).toMatchObject({
      source: "executed",
    });
    expect(app.server.effects).toHaveLength(1);
  });

  test.each(codes)("when it is opened (%s): the same, and the next use tries again", async (code) => {
    const { app, watched } = createApp();
    watched.break("open", failing(code as StoreError["code"]));
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    expect(await app.until(fate(handle.send()))).toMatchObject({ code });
    watched.mend("open");
    expect(await app.until(handle.send())).toMatchObject({ source: "executed" });
  });

  test("with an error of its own: still a StoreError, with the cause", async () => {
    const { app, watched } = createApp();
    const cause = new Error("disk on fire");
    watched.break("insert", async () => {
      throw cause;
    });
    const error = await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, { id: "op-1" }).send()));
    expect(error).toMatchObject({ code: "not_durable", id: "op-1" });
    watched.break("open", async () => {
      throw cause;
    });
    await app.reload();
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))).toMatchObject({
      code: "unavailable",
      cause,
    });
    expect(app.server.calls).toHaveLength(0);
  });

  test("the outcome says that nothing was saved", async () => {
    const { app, watched } = createApp();
    watched.break("insert", failing("store_full"));
    const outcome = await app.until(app.sdk.operation("transfer", { amount: 1 }).outcome());
    expect(outcome).toMatchObject({ state: "unsaved", error: { code: "store_full" } });
  });

  test.each(["stalled", "not_durable"] as const)(
    "after the commit (%s): it says so, carries the id, and the record is canceled once the store answers",
    async (code) => {
      const { app, watched } = createApp();
      watched.break("insert", failing(code, "after"));
      watched.break("update", failing("stalled"));
      const error = await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()));
      const { id } = error as { id: string };
      expect(error).toMatchObject({ code });
      await app.advance("10m");
      expect(await app.store.get(id)).toMatchObject({ state: "pending" });
      watched.mend("update");
      await app.advance("2m");
      expect(await app.store.get(id)).toMatchObject({ state: "canceled", attempts: 1 });
      expect(app.server.calls).toHaveLength(0);
      watched.mend("insert");
      await app.until(app.sdk.operation("transfer", { amount: 2 }, order).send());
      expect(app.server.effects).toHaveLength(1);
    },
  );

  test("not before the commit is known: the background leaves what is being recorded alone", async () => {
    const { app, watched } = createApp();
    watched.break("insert", async (insert) => {
      await insert();
      app.sdk.start();
      await app.clock.sleep(60_000);
      throw new StoreError("not_durable");
    });
    expect(await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, { id: "op-1" }).save()))).toMatchObject({
      code: "not_durable",
    });
    await app.advance("1h");
    expect(await app.store.get("op-1")).toMatchObject({ state: "canceled", attempts: 0 });
    expect(app.server.calls).toHaveLength(0);
  });

  test.each(["the same handle", "another call"])(
    "after the commit, but somebody sends again (%s): it is this operation, and is not canceled",
    async (who) => {
      const { app, watched } = createApp();
      watched.break("insert", failing("stalled", "after"));
      watched.break("update", failing("stalled"));
      const handle = app.sdk.operation("transfer", { amount: 1 }, order);
      const error = await app.until(fate(handle.send()));
      watched.mend("insert");
      watched.mend("update");
      const at = app.clock.now();
      const again = who === "the same handle" ? handle : app.sdk.operation("transfer", { amount: 1 }, order);
      const result = await app.until(again.send());
      // It was never sent, so nothing is uncertain and nobody waits for a lease.
      expect(app.clock.now() - at).toBeLessThan(1000);
      expect(result.id).toBe((error as { id: string }).id);
      await app.advance("1h");
      expect(await app.store.get(result.id)).toMatchObject({ state: "succeeded" });
      expect(app.server.calls).toHaveLength(1);
    },
  );

  test("after the commit, and sent again while nothing can be sent: not canceled either", async () => {
    const { app, watched } = createApp();
    app.offline(true);
    watched.break("insert", failing("stalled", "after"));
    watched.break("update", failing("stalled"));
    const handle = app.sdk.operation("transfer", { amount: 1 }, order);
    expect(await app.until(fate(handle.send()))).toMatchObject({ code: "stalled" });
    watched.mend("insert");
    const sending = fate(handle.send());
    await app.advance("1s");
    watched.mend("update");
    await app.advance("5m");
    app.offline(false);
    expect(await app.until(sending)).toMatchObject({ source: "executed" });
  });

  test("after the commit, and the user sends something else: refused once, then canceled and free", async () => {
    const { app, watched } = createApp();
    watched.break("insert", failing("not_durable", "after"));
    watched.break("update", failing("stalled"));
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, order).send()));
    watched.mend("insert");
    const other = () => app.until(fate(app.sdk.operation("transfer", { amount: 2 }, order).send()));
    expect(await other()).toMatchObject({ code: "intent_mismatch" });
    watched.mend("update");
    await app.advance("5m");
    expect(await other()).toMatchObject({ source: "executed" });
    expect(app.server.effects).toHaveLength(1);
  });

  test.each(["joins", "fails in doubt"])(
    "I7 a second handle of one id and key that %s leaves the first one's attempt alone",
    async (how) => {
      const { app, watched } = createApp();
      let isFirst = true;
      watched.break("insert", async (run) => {
        if (!isFirst && how === "fails in doubt") throw new StoreError("stalled");
        isFirst = false;
        return run();
      });
      app.server.script(stall(), lose.response());
      const send = () => app.sdk.operation("transfer", { amount: 1 }, { id: "op-1", key: "key-1" }).send();
      const first = send();
      const second = fate(send());
      await app.advance("10s");
      expect(await app.store.get("op-1")).toMatchObject({ state: "pending", attempts: 1, mark: { attempt: 1 } });
      expect(app.server.calls).toHaveLength(1);
      await app.until(Promise.all([first, second]));
      expect(app.server.effects).toHaveLength(1);
    },
  );

  test("a store that repeats an insert and meets its own: sent at once, and nothing is uncertain", async () => {
    const { app, watched } = createApp();
    watched.break("insert", async (run) => {
      await run();
      return run();
    });
    const at = app.clock.now();
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(app.clock.now() - at).toBeLessThan(1000);
    expect(await app.store.get(id)).toMatchObject({ state: "succeeded", uncertainSince: undefined });
  });

  test("in doubt, canceled, and sent again by the same handle: recorded and sent anew, once", async () => {
    const { app, watched } = createApp();
    watched.break("insert", failing("stalled", "after"));
    const handle = app.sdk.operation("transfer", { amount: 1 });
    const first = (await app.until(fate(handle.send()))) as { id: string };
    await app.advance("5m");
    expect(await app.store.get(first.id)).toMatchObject({ state: "canceled" });
    // And once more in doubt.
    const second = (await app.until(fate(handle.send()))) as { id: string };
    watched.mend("insert");
    const result = await app.until(handle.send());
    expect(result).toMatchObject({ source: "executed" });
    expect(handle.getSnapshot()).toMatchObject({ id: result.id, state: "succeeded" });
    await app.advance("5m");
    expect(await app.sdk.counts()).toEqual({ canceled: second.id === first.id ? 1 : 2, succeeded: 1 });
    app.sdk.start();
    await app.advance("5m");
    expect(app.server.calls).toHaveLength(1);
  });

  test("in doubt: nobody here sends it before it is canceled, although its lease is over", async () => {
    const { app, watched } = createApp();
    app.sdk.start();
    watched.break("insert", failing("stalled", "after"));
    for (const verb of ["update", "claim"] as const) watched.break(verb, failing("stalled"));
    const { id } = (await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))) as { id: string };
    await app.advance("3m");
    for (const verb of ["insert", "update", "claim"] as const) watched.mend(verb);
    // Makes the drain look at once.
    await app.until(app.sdk.operation("transfer", { amount: 2 }).save());
    const sending = fate(app.sdk.attach(id).send());
    expect(await app.until(sending)).toMatchObject({ code: "canceled" });
    await app.advance("5m");
    expect(app.server.calls.map((call) => call.text())).toEqual(['{"amount":2}']);
  });

  test("in doubt, and taken over by a write of unknown fate too: canceled all the same", async () => {
    const { app, watched } = createApp();
    watched.break("insert", failing("stalled", "after"));
    watched.break("update", failing("stalled"));
    const handle = app.sdk.operation("transfer", { amount: 1 });
    const { id } = (await app.until(fate(handle.send()))) as { id: string };
    watched.mend("insert");
    watched.break("update", failing("not_durable", "after"));
    expect(await app.until(fate(handle.send()))).toMatchObject({ code: "not_durable" });
    watched.mend("update");
    await app.advance("5m");
    app.sdk.start();
    await app.advance("5m");
    expect(await app.store.get(id)).toMatchObject({ state: "canceled" });
    expect(app.server.calls).toHaveLength(0);
  });

  test("in doubt twice: the clean-up of the first doubt does not end that of the second", async () => {
    const { app, watched } = createApp();
    watched.break("insert", failing("stalled"));
    watched.break("update", async (run) => {
      await app.clock.sleep(500);
      return run();
    });
    const handle = app.sdk.operation("transfer", { amount: 1 });
    const first = (await app.until(fate(handle.send()))) as { id: string };
    await app.advance(400);
    // The first clean-up, which is under way, finds it; it is the second's to cancel.
    watched.break("insert", failing("stalled", "after"));
    await app.until(fate(handle.send()));
    await app.advance("5m");
    expect(await app.store.get(first.id)).toMatchObject({ state: "canceled" });
  });

  test.each(["saved", "sent"] as const)(
    "a doubt leaves alone what another process has %s under the same id",
    async (how) => {
      const browser = createBrowser();
      const watched = createWatchedStore(browser.store);
      const here = browser.open({ operations, store: watched.store });
      const there = browser.open({ operations });
      watched.break("insert", failing("stalled"));
      const call = { id: "op-1" };
      await browser.clock.until(fate(here.operation("transfer", { amount: 1 }, call).send()));
      browser.server.script(stall(), lose.response());
      const handle = there.operation("transfer", { amount: 1 }, call);
      const sending: Promise<unknown> = how === "saved" ? handle.save() : handle.send();
      await browser.clock.advance("10s");
      expect(await browser.store.get("op-1")).toMatchObject({ state: "pending", attempts: how === "saved" ? 0 : 1 });
      await browser.clock.until(sending);
    },
  );

  test("at the mark of a later attempt: it is not made, and the operation goes on when the store is back", async () => {
    const { app, watched } = createApp();
    app.server.script(lose.response());
    const sending = fate(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.advance(0);
    watched.break("claim", failing("stalled"));
    const told = await app.until(sending);
    expect(told).toMatchObject({ code: "pending", cause: { code: "stalled" } });
    expect(app.server.calls).toHaveLength(1);
    watched.mend("claim");
    await app.advance("1m");
    expect(app.server.calls).toHaveLength(2);
    expect(await app.store.counts()).toEqual({ succeeded: 1 });
  });

  test("a hiccup is not told to who waits", async () => {
    const { app, watched } = createApp();
    app.server.script(lose.response());
    const sending = app.sdk.operation("transfer", { amount: 1 }).send();
    await app.advance(0);
    watched.break("get", failing("stalled"));
    await app.advance(500);
    watched.mend("get");
    expect(await app.until(sending)).toMatchObject({ source: "replayed" });
  });

  test("at the answer: what it said is written once the store is back, without another request", async () => {
    const { app, watched } = createApp();
    const sending = app.sdk.operation("transfer", { amount: 1 }).send();
    watched.break("update", failing("stalled"));
    await app.advance(0);
    expect(app.server.calls).toHaveLength(1);
    watched.mend("update");
    expect(await app.until(sending)).toMatchObject({ source: "executed", attempts: 1 });
    expect(app.server.calls).toHaveLength(1);
  });

  test("at the answers of many: Node is given no reason to warn of a leak", async () => {
    const browser = createBrowser();
    const watched = createWatchedStore();
    const sdk = browser.open({ operations, store: watched.store, concurrency: 12 });
    const warned = vi.fn();
    process.on("warning", warned);
    const sends = Array.from({ length: 12 }, (_, amount) => sdk.operation("transfer", { amount }).send());
    watched.break("update", failing("stalled"));
    await browser.clock.advance(0);
    expect(browser.server.calls).toHaveLength(12);
    watched.mend("update");
    await browser.clock.until(Promise.all(sends));
    expect(browser.server.calls).toHaveLength(12);
    process.off("warning", warned);
    expect(warned.mock.calls).toEqual([]);
  });

  test("a failed read is never read as none", async () => {
    const { app, watched } = createApp();
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    for (const verb of ["get", "find", "page", "counts"] as const) watched.break(verb, failing("unavailable"));
    for (const read of [
      () => app.sdk.get(id),
      () => app.sdk.find({ name: "transfer", ...order }),
      () => app.sdk.list().next(),
      () => app.sdk.counts(),
      () => app.sdk.attach(id).save(),
    ]) {
      expect(await app.until(fate(read() as Promise<unknown>))).toMatchObject({ code: "unavailable" });
    }
  });
});
