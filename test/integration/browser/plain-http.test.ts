import { expect, test } from "vitest";
import { delay, lose, status } from "../../../src/testing/index.js";
import { arrived, eventually, kept, keysOf, open, PLAIN_HOST, send, sendAside, setUp, watchInFlight } from "./tools.js";

const setting = setUp();

/** A tab on plain http: no secure context, so half of what browsers have is not there. */
async function plainShop() {
  const page = await setting.tab(`http://${PLAIN_HOST}:${setting.site.port}`);
  const there = await page.evaluate(() => ({
    secure: isSecureContext,
    missing: [crypto.randomUUID, crypto.subtle, navigator.locks, navigator.serviceWorker, navigator.storage],
  }));
  expect(there).toEqual({ secure: false, missing: Array.from({ length: 5 }, () => undefined) });
  await open(page);
  return page;
}

test("without a secure context an operation is recorded, sent, retried and settled (F13)", async () => {
  const { site } = setting;
  site.api.script(lose.response(), lose.request());
  const page = await plainShop();
  const { key, source } = await send(page, "order-1");
  expect(source).toBe("replayed");
  expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(keysOf(site)).toEqual(new Set([key]));
  expect(site.api.effects).toHaveLength(1);
});

test("without Web Locks two tabs still send an intent once, by leases alone (F13 F9)", async () => {
  const { site } = setting;
  site.api.script(delay(300));
  const tabs = [await plainShop(), await plainShop()];
  const results = await Promise.all(tabs.map((tab) => send(tab, "order-1")));
  expect(results[1]).toEqual(results[0]);
  expect(site.arrivals).toHaveLength(1);
});

test("without Web Locks three tabs and 40 operations: by leases alone, one attempt of each at once (F13 F46)", async () => {
  const { site } = setting;
  site.api.script(...Array.from({ length: 100 }, (_, i) => delay(5 + (i % 7) * 10)));
  const most = watchInFlight(site);
  const tabs = [await plainShop(), await plainShop(), await plainShop()];
  const [first, ...others] = await Promise.all(
    tabs.map((tab) =>
      tab.evaluate(async () => {
        app.sdk.start();
        const sendings = Array.from({ length: 40 }, (_, i) =>
          app.sdk.operation("transfer", { amount: i }, { intent: `order-${i}` }).send(),
        );
        return (await Promise.all(sendings)).map(({ key, data }) => `${key} ${data.id}`);
      }),
    ),
  );
  expect(new Set(first).size).toBe(40);
  for (const other of others) expect(other).toEqual(first);
  expect(most()).toBe(1);
  expect(site.arrivals).toHaveLength(40);
}, 30_000);

test("without Web Locks nobody is taken for dead: a lost tab's lease runs out first (F13)", async () => {
  const { site } = setting;
  site.api.script(delay("1h"));
  const lost = await plainShop();
  await sendAside(lost, "order-1");
  await arrived(site, 1);
  await lost.close();
  const other = await plainShop();
  await sendAside(other, "order-1");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(site.arrivals).toHaveLength(1);
  const late = await setting.tab(`http://${PLAIN_HOST}:${site.port}`);
  await late.evaluate(() => {
    const clock = {
      now: () => Date.now() + 31_000,
      sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.min(ms, 200))),
    };
    void app.open({ clock }).resume();
  });
  await eventually(() => kept(other, "order-1")).toMatchObject({ data: { id: "1" } });
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("an operation whose tab is closed between two attempts is taken over when it is due (F13)", async () => {
  const { site } = setting;
  site.api.script([delay(700), status(503, { headers: { "retry-after": "1" } })]);
  const [acting, other] = [await plainShop(), await plainShop()];
  await acting.evaluate(() => app.sdk.on("retry", () => (app.kept["retry"] = true)));
  await sendAside(acting, "order-1");
  await arrived(site, 1);
  await sendAside(other, "order-1");
  await eventually(() => kept(acting, "retry")).toBe(true);
  await acting.close();
  await eventually(() => kept(other, "order-1")).toMatchObject({ data: { id: "1" } });
  expect(keysOf(site).size).toBe(1);
});

test("without crypto.subtle an intent whose body is past its keep time is still compared (F13)", async () => {
  const { site } = setting;
  const page = await plainShop();
  await page.evaluate(async () => {
    const sdk = app.open({ keepFor: 0 });
    await sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
    await new Promise((resolve) => setTimeout(resolve, 5));
    sdk.start();
  });
  const bodies = () =>
    page.evaluate(async () => {
      const hashes: unknown[] = [];
      for await (const { hash } of app.sdk.list()) hashes.push(hash);
      return hashes;
    });
  await eventually(bodies).toEqual([expect.stringMatching(/^v5:/)]);
  const outcomes = await page.evaluate(async () => {
    const again = (amount: number) => app.open().operation("transfer", { amount }, { intent: "order-1" }).outcome();
    return [await again(5), await again(6)].map((it) => ("error" in it ? it.error.code : it.state));
  });
  expect(outcomes).toEqual(["unreadable", "intent_mismatch"]);
  expect(site.arrivals).toHaveLength(1);
});
