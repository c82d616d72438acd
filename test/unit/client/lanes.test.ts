import { post } from "samekey";
import { createTestSdk, delay, lose, status, unauthorized } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { createBrowser, createWatchedStore, failing, fate, type Receipt, type Transfer } from "./kit.js";

const operations = {
  transfer: post<Transfer, Receipt>("/transfers"),
  once: post<Transfer, Receipt>("/once", { retry: { attempts: 1 } }),
};
const lane = { lane: "account-7" };

describe("a lane", () => {
  test("sends one after the other, in the order in which they were recorded, over failures", async () => {
    const app = createTestSdk({ operations });
    app.server.script(lose.response(), delay("3s"), status(503));
    const sending = [1, 2, 3, 4].map((amount) => app.sdk.operation("transfer", { amount }, lane).send());
    const free = app.sdk.operation("transfer", { amount: 99 }).send();
    await app.until(free);
    await app.until(Promise.all(sending));
    const amounts = app.server.effects.map(({ body }) => (body as Transfer).amount).filter((amount) => amount < 99);
    expect(amounts).toEqual([1, 2, 3, 4]);
  });

  test("goes on at once when its head settles, without polling", async () => {
    const app = createTestSdk({ operations });
    const at = app.clock.now();
    await app.until(Promise.all([1, 2, 3].map((amount) => app.sdk.operation("transfer", { amount }, lane).send())));
    expect(app.clock.now() - at).toBeLessThan(100);
  });

  test("is one owner's", async () => {
    const app = createTestSdk({ operations, owner: () => "ada" });
    app.server.script(unauthorized());
    await app.until(fate(app.sdk.operation("transfer", { amount: 1 }, lane).send()));
    const other = app.sdk.operation("transfer", { amount: 2 }, { ...lane, owner: "bob" });
    expect(await app.until(other.send())).toMatchObject({ source: "executed" });
  });

  test.each([
    ["blocked", unauthorized()],
    ["unresolved", lose.response()],
  ] as const)("stops behind a head that is %s, and says which", async (state, fault) => {
    const app = createTestSdk({ operations });
    app.server.script(fault);
    const head = fate(app.sdk.operation("once", { amount: 1 }, lane).send());
    const behind = [2, 3].map((amount) => fate(app.sdk.operation("transfer", { amount }, lane).send()));
    const { id } = (await app.until(head)) as { id: string };
    for (const error of await app.until(Promise.all(behind))) {
      expect(error).toMatchObject({ name: "PendingError", code: "lane", record: { id, state } });
      expect((error as Error).message).toContain(id);
    }
    // One that comes later is told as well.
    const late = await app.until(fate(app.sdk.operation("transfer", { amount: 4 }, lane).send()));
    expect(late).toMatchObject({ code: "lane", record: { id } });
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(1);
  });

  test.each(["discard", "reconcile", "retry", "cancel"] as const)("goes on by itself after %s", async (how) => {
    const app = createTestSdk({ operations, headers: ({ name }) => (how === "cancel" && name === "once" ? null : {}) });
    app.server.script(...(how === "cancel" ? [] : [lose.response()]));
    const { id } = (await app.until(fate(app.sdk.operation("once", { amount: 1 }, lane).send()))) as { id: string };
    const handle = app.sdk.operation("transfer", { amount: 2 }, { ...lane, intent: "second" });
    expect(await app.until(fate(handle.send()))).toMatchObject({ code: "lane" });
    if (how === "discard") await app.until(app.sdk.discard(id, { reason: "done by telephone" }));
    if (how === "reconcile") await app.until(app.sdk.reconcile(id, "applied"));
    if (how === "cancel") await app.until(app.sdk.cancel(id));
    if (how === "retry") {
      await app.until(app.sdk.retry(id));
      await app.until(app.sdk.attach(id).send());
    }
    // Nobody sends it again: it goes on by itself, and at once.
    await app.advance(100);
    expect(app.server.effects.at(-1)?.body).toEqual({ amount: 2 });
    expect(await app.until(handle.send())).toMatchObject({ source: "store" });
  });

  test("the waiter of one behind gets its outcome when the head is resolved while it waits", async () => {
    const app = createTestSdk({ operations });
    app.server.script(delay("20s"));
    const head = fate(app.sdk.operation("transfer", { amount: 1 }, lane).send());
    const second = app.sdk.operation("transfer", { amount: 2 }, lane).send();
    await app.until(head);
    expect(await app.until(second)).toMatchObject({ source: "executed" });
  });

  test("across two instances, by start()", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations }), browser.open({ operations })];
    one.start();
    two.start();
    browser.server.script(delay("2s"), status(503), delay("1s"));
    for (let amount = 1; amount <= 6; amount++) {
      const sdk = amount % 2 ? one : two;
      await browser.clock.until(sdk.operation("transfer", { amount }, lane).save());
    }
    await browser.clock.advance("30m");
    expect(browser.server.effects.map(({ body }) => (body as Transfer).amount)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("across two instances: waiting in one behind a head that the other resolves", async () => {
    const browser = createBrowser();
    const [one, two] = [browser.open({ operations }), browser.open({ operations })];
    browser.server.script(delay("10s"));
    const head = one.operation("transfer", { amount: 1 }, lane).send();
    await browser.clock.advance(10);
    const behind = two.operation("transfer", { amount: 2 }, lane).send();
    await browser.clock.until(Promise.all([head, behind]));
    expect(browser.server.effects).toHaveLength(2);
    browser.server.script(lose.response());
    const { id } = (await browser.clock.until(fate(one.operation("once", { amount: 3 }, lane).send()))) as {
      id: string;
    };
    const stuck = two.operation("transfer", { amount: 4 }, { ...lane, intent: "four" });
    expect(await browser.clock.until(fate(stuck.send()))).toMatchObject({ code: "lane", record: { id } });
    await browser.clock.until(one.discard(id, { reason: "x" }));
    expect(await browser.clock.until(stuck.send())).toMatchObject({ source: "executed" });
  });
});

test("a store that then cannot tell the next in the lane does not fail what was done", async () => {
  const watched = createWatchedStore();
  const app = createTestSdk({ operations, store: watched.store });
  const handle = app.sdk.operation("transfer", { amount: 1 }, lane);
  await app.until(handle.save());
  watched.break("head", failing("stalled"));
  expect(await app.until(handle.cancel())).toMatchObject({ state: "canceled" });
});
