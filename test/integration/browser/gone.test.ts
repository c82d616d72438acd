import type { Page } from "playwright";
import { expect, test } from "vitest";
import { delay, status } from "../../../src/testing/index.js";
import { arrived, eventually, freeze, kept, keysOf, send, sendAside, setUp } from "./tools.js";

const setting = setUp();

/** The lease of a tab that was not seen to go. */
const LEASE = 30_000;

async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent("crash");
  const devtools = await setting.devtools(page);
  devtools.send("Page.crash").catch(() => {});
  await crashed;
}

/** Two tabs wait for one operation, which the first has in flight; its answer is kept back for ever. */
async function twoWaiting(): Promise<[acting: Page, other: Page]> {
  const { site, shop } = setting;
  site.api.script(delay("1h"));
  const [acting, other] = [await shop(), await shop()];
  await sendAside(acting, "order-1");
  await arrived(site, 1);
  await sendAside(other, "order-1");
  await eventually(() => other.evaluate(() => app.sdk.counts())).toEqual({ pending: 1 });
  return [acting, other];
}

test.each([
  ["crashes", crash],
  ["is closed", (page: Page) => page.close()],
])("a tab that %s in the middle of an attempt is relieved at once by one that waits", async (_, end) => {
  const { site } = setting;
  const [acting, other] = await twoWaiting();
  await end(acting);
  await eventually(() => kept(other, "order-1")).toEqual({ source: "replayed", data: { id: "1" } });
  expect(site.arrivals).toHaveLength(2);
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("a tab that crashes is relieved at once by one that works in the background", async () => {
  const { site, shop } = setting;
  const other = await shop();
  await other.evaluate(() => {
    app.sdk.on("settled", ({ response }) => (app.kept["settled"] = response?.replayed));
    app.sdk.start();
  });
  const acting = await shop();
  site.api.script(delay("1h"));
  await sendAside(acting, "order-1");
  await arrived(site, 1);
  await crash(acting);
  await eventually(() => kept(other, "settled")).toBe(true);
  expect(site.api.effects).toHaveLength(1);
});

test("a tab that is opened after the crash finishes what it finds", async () => {
  const { site, shop } = setting;
  const acting = await shop();
  site.api.script(delay("1h"));
  await sendAside(acting, "order-1");
  await arrived(site, 1);
  await crash(acting);
  const later = await shop();
  const report = await later.evaluate(() => app.sdk.resume({ wait: "5s" }));
  expect(report).toMatchObject({ succeeded: 1, remaining: 0 });
  expect(site.api.effects).toHaveLength(1);
});

/** A tab of the shop whose clock goes by leaps, so that a lease need not be sat out. */
async function tabAhead(): Promise<{ page: Page; leap(ms: number): Promise<void> }> {
  const page = await setting.shop();
  await page.evaluate(() => {
    const ahead = { ms: 0 };
    app.kept["ahead"] = ahead;
    app.open({
      clock: {
        now: () => Date.now() + ahead.ms,
        sleep: (ms, signal) =>
          new Promise((resolve, reject) => {
            setTimeout(resolve, Math.min(ms, 200));
            signal?.addEventListener("abort", () => reject(signal.reason));
          }),
      },
    });
  });
  const leap = (ms: number) =>
    page.evaluate((by) => {
      (app.kept["ahead"] as { ms: number }).ms += by;
    }, ms);
  return { page, leap };
}

/** Nothing of the tab runs any more, but its renderer lives, and so does its lock. Answers with the way back. */
async function halt(page: Page): Promise<() => Promise<void>> {
  const debug = await setting.devtools(page);
  await debug.send("Debugger.enable");
  await debug.send("Debugger.pause");
  return async () => {
    await debug.send("Debugger.resume");
    await debug.send("Debugger.disable");
  };
}

test.each([
  { how: "the browser froze", still: freeze, late: "answer", faults: [] },
  { how: "the browser froze", still: freeze, late: "failure", faults: [status(503)] },
  { how: "the debugger halted", still: halt, late: "answer", faults: [] },
  { how: "the debugger halted", still: halt, late: "failure", faults: [status(503)] },
])(
  "a tab that $how keeps its attempt until the lease is over, and its late $late does no harm",
  async ({ still, faults }) => {
    const { site, shop } = setting;
    const acting = await shop();
    const { page: other, leap } = await tabAhead();
    site.api.script([delay(1_000), ...faults]);
    await sendAside(acting, "order-1");
    await arrived(site, 1);
    const goOn = await still(acting);
    await sendAside(other, "order-1");
    await eventually(() => other.evaluate(() => app.sdk.counts())).toEqual({ pending: 1 });
    await other.evaluate(() => app.sdk.resume({ wait: 500 }));
    expect(site.arrivals, "it may still be working").toHaveLength(1);
    await leap(LEASE + 1_000);
    await eventually(() => kept(other, "order-1")).toMatchObject({ data: { id: "1" } });
    await goOn();
    await eventually(() => kept(acting, "order-1")).toMatchObject({ data: { id: "1" } });
    expect(await other.evaluate(() => app.sdk.counts())).toEqual({ succeeded: 1 });
    expect(keysOf(site).size).toBe(1);
    expect(site.api.effects).toHaveLength(1);
  },
);

test("a tab that stands still in the middle of a transaction: the others are told, and send nothing (F59)", async () => {
  const { site, tab, shop, devtools } = setting;
  const frozen = await shop();
  await frozen.evaluate(() => app.sdk.counts());
  await frozen.evaluate(async () => {
    const request = indexedDB.open("samekey:pay");
    const database = await new Promise<IDBDatabase>((resolve) => {
      request.onsuccess = () => resolve(request.result);
    });
    const operations = database.transaction("operations", "readwrite").objectStore("operations");
    // Request after request keeps it open.
    const hold = () => {
      operations.count().onsuccess = () => !app.kept["let go"] && hold();
    };
    hold();
  });
  const debug = await devtools(frozen);
  await debug.send("Debugger.enable");
  await debug.send("Debugger.pause");
  const other = await tab();
  await other.evaluate(() => {
    localStorage.setItem("user", "ann");
    const clock = {
      now: () => Date.now(),
      // The store's deadline of 5 s is over soon.
      sleep: (ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          setTimeout(resolve, Math.min(ms, 500));
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    };
    app.open({ clock });
  });
  await sendAside(other, "order-1");
  await eventually(() => kept(other, "order-1")).toMatchObject({ code: "stalled" });
  expect(site.arrivals).toEqual([]);
  await debug.send("Debugger.resume");
  await debug.send("Debugger.disable");
  await frozen.evaluate(() => {
    app.kept["let go"] = true;
  });
  expect(await send(other, "order-1"), "the intent is free").toMatchObject({ source: "executed" });
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("a tab that lives keeps its attempt, however many look after it", async () => {
  const { site, shop } = setting;
  site.api.script(delay(1_500));
  const acting = await shop();
  const sending = send(acting, "order-1");
  await arrived(site, 1);
  const others = [await shop(), await shop(), await shop()];
  await Promise.all(others.map((tab) => tab.evaluate(() => app.sdk.resume({ wait: 500 }))));
  await others[0]?.close();
  expect(await sending).toMatchObject({ source: "executed" });
  expect(site.arrivals).toHaveLength(1);
});
