import { expect, test } from "vitest";
import { delay } from "../../../src/testing/index.js";
import { setUp, watchInFlight } from "./tools.js";

const setting = setUp();

test("a dedicated worker records and resumes, without a window or localStorage", async () => {
  const { site, tab } = setting;
  const page = await tab();
  const call = (what: string) =>
    page.evaluate(
      (message) =>
        new Promise<Record<string, unknown>>((resolve, reject) => {
          // One for each call: the second knows of the first by the store alone.
          const worker = new Worker("/worker.js", { type: "module" });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = ({ message: why }) => reject(new Error(why));
          worker.postMessage(message);
        }),
      what,
    );
  const bare = { window: "undefined", localStorage: "undefined" };
  const saved = await call("save");
  expect(saved).toMatchObject({ ...bare, state: "pending" });
  expect(site.arrivals).toEqual([]);
  expect(await call("resume")).toMatchObject({ ...bare, succeeded: 1, remaining: 0 });
  expect(site.api.effects).toEqual([expect.objectContaining({ key: saved["key"], body: { amount: 7 } })]);
});

/** A page with the site's service worker, and a way to ask it. */
async function withServiceWorker() {
  const page = await setting.tab();
  await page.evaluate(async () => {
    await navigator.serviceWorker.register("/sw.js", { type: "module" });
    await navigator.serviceWorker.ready;
  });
  const call = (what: string) =>
    page.evaluate(async (message) => {
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      const answer = new Promise<Record<string, unknown>>((resolve) => {
        port1.onmessage = ({ data }) => resolve(data);
      });
      active?.postMessage(message, [port2]);
      return answer;
    }, what);
  return { page, call };
}

test("four tabs and a service worker, 100 operations: one attempt of each at once, every tab hears every outcome (F46)", async () => {
  const { site, tab } = setting;
  site.api.script(...Array.from({ length: 400 }, (_, i) => delay(5 + (i % 7) * 10)));
  const { page, call } = await withServiceWorker();
  const most = watchInFlight(site);
  await page.evaluate(async () => {
    const sdk = app.open({ owner: "single" });
    const saves = Array.from({ length: 100 }, (_, i) =>
      sdk.operation("transfer", { amount: i }, { intent: `order-${i}` }).save(),
    );
    await Promise.all(saves);
  });
  const tabs = [page, await tab(), await tab(), await tab()];
  const waiting = tabs.map((it) =>
    it.evaluate(async () => {
      const sdk = app.open({ owner: "single" });
      sdk.start();
      const sendings = Array.from({ length: 100 }, (_, i) =>
        sdk.operation("transfer", { amount: i }, { intent: `order-${i}` }).send(),
      );
      return (await Promise.all(sendings)).map(({ key, data }) => `${key} ${data.id}`);
    }),
  );
  const report = call("resume");
  const [first, ...others] = await Promise.all(waiting);
  expect(new Set(first).size).toBe(100);
  for (const other of others) expect(other).toEqual(first);
  // It ends when all that is left is held by others.
  expect(await report).toMatchObject({ rejected: 0, blocked: 0, unresolved: 0 });
  expect(await page.evaluate(() => app.sdk.counts())).toEqual({ succeeded: 100 });
  expect(most()).toBe(1);
  expect(site.arrivals).toHaveLength(100);
  expect(site.api.effects).toHaveLength(100);
}, 60_000);

test("a service worker records and resumes what a page left, and a page what it left", async () => {
  const { site } = setting;
  const { page, call } = await withServiceWorker();
  const bare = { window: "undefined", localStorage: "undefined" };
  const saved = await call("save");
  expect(saved).toMatchObject({ ...bare, state: "pending" });
  const report = await page.evaluate(async () => {
    const sdk = app.open({ owner: "single" });
    const report = await sdk.resume();
    await sdk.operation("transfer", { amount: 9 }, { intent: "from-page" }).save();
    return report;
  });
  expect(report).toMatchObject({ succeeded: 1, remaining: 0 });
  expect(await call("resume")).toMatchObject({ ...bare, succeeded: 1, remaining: 0 });
  expect(site.api.effects.map(({ body }) => body)).toEqual([{ amount: 8 }, { amount: 9 }]);
  expect(site.api.effects[0]?.key).toBe(saved["key"]);
});
