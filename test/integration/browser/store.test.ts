import { expect, test } from "vitest";
import { delay, status } from "../../../src/testing/index.js";
import { arrived, eventually, kept, keysOf, open, send, sendAside, setUp } from "./tools.js";

const setting = setUp();

test("a full disk refuses what does not fit before it is sent, and takes the rest (F66)", async () => {
  const { site, tab, devtools } = setting;
  const page = await tab();
  // Before the first use: Chromium remembers for a while how much room there was.
  await (await devtools(page)).send("Storage.overrideQuotaForOrigin", { origin: site.url, quotaSize: 1_000_000 });
  await open(page);
  await send(page, "small");
  const failure = await page.evaluate(async () => {
    const bytes = new Uint8Array(3_000_000);
    for (let at = 0; at < bytes.length; at += 60_000) crypto.getRandomValues(bytes.subarray(at, at + 60_000));
    let note = "";
    for (let at = 0; at < bytes.length; at += 30_000)
      note += btoa(String.fromCharCode(...bytes.subarray(at, at + 30_000)));
    const large = { amount: 5, note };
    const told = await app.sdk.operation("transfer", large, { intent: "large" }).outcome();
    const { name, code, message } = "error" in told ? told.error : {};
    const record = await app.sdk.find({ name: "transfer", intent: "large" });
    return { state: told.state, name, code, message, record };
  });
  expect(failure).toMatchObject({ state: "unsaved", name: "StoreError", code: "store_full", record: undefined });
  expect(failure.message).toMatch(/\d+ of 1000000 bytes are used/);
  expect(site.arrivals).toHaveLength(1);
  await send(page, "small again");
  expect(keysOf(site).size).toBe(2);
});

test("a store that was evicted while no page was open says so, instead of being silently empty (F73)", async () => {
  const { site, tab } = setting;
  const page = await tab();
  await open(page);
  await send(page, "order-1");
  await page.close();
  const later = await tab();
  // As the browser does: the database goes, and what stands beside it usually does not.
  await later.evaluate(() => app.evict());
  await later.evaluate(async () => {
    const resets: string[] = [];
    app.kept["resets"] = resets;
    app.open().on("storereset", ({ name }) => resets.push(name));
    app.kept["found"] = await app.sdk.find({ name: "transfer", intent: "order-1" });
  });
  expect(await kept(later, "found")).toBeUndefined();
  expect(await kept(later, "resets")).toEqual(["pay"]);
  await send(later, "order-2");

  await later.reload();
  const again = await later.evaluate(async () => {
    let resets = 0;
    app.open().on("storereset", () => resets++);
    await app.sdk.counts();
    return resets;
  });
  expect(again, "once").toBe(0);
  expect(site.api.effects).toHaveLength(2);
});

test.each([
  ["without an answer has an unknown outcome, and says why", status(503), { code: "discarded" }],
  ["still hears its success", [], { source: "executed" }],
])("an operation whose record is evicted in the middle of an attempt %s (F73)", async (_, fault, told) => {
  const { site, tab } = setting;
  site.api.script([delay(600), fault].flat());
  const page = await tab();
  await open(page);
  await page.evaluate(() => app.sdk.on("storereset", ({ name }) => (app.kept["reset"] = name)));
  await sendAside(page, "order-1");
  await arrived(site, 1);
  await page.evaluate(() => app.evict());
  await eventually(() => kept(page, "order-1")).toMatchObject(told);
  if ("code" in told) {
    const message = expect.stringMatching(/evicted.*may or may not have been applied/);
    expect(await kept(page, "order-1")).toMatchObject({ message });
  }
  await eventually(() => kept(page, "reset")).toBe("pay");
});

test("an intent whose key is derived from it keeps its key when the store is lost (F73)", async () => {
  const { site, tab } = setting;
  const pay = async () => {
    const page = await tab();
    const told = await page.evaluate(async () => {
      const sdk = app.createSdk({
        name: "derived",
        owner: "single",
        retention: "24h",
        operations: { transfer: app.post<{ amount: number }, { id: string }>("/transfers", { key: "from-intent" }) },
      });
      const { key, source } = await sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
      return { key, source };
    });
    await page.close();
    return told;
  };
  const first = await pay();
  const page = await tab();
  await page.evaluate(async () => {
    await app.evict();
    localStorage.clear();
  });
  await page.close();
  expect(await pay()).toEqual({ key: first.key, source: "replayed" });
  expect(site.api.effects).toHaveLength(1);
});

test("under `default-src 'self'` nothing of it is refused", async () => {
  const { site, tab } = setting;
  expect((await fetch(site.url)).headers.get("content-security-policy")).toBe("default-src 'self'");
  const page = await tab();
  await page.evaluate(() => {
    const refused: string[] = [];
    app.kept["refused"] = refused;
    document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => refused.push(violatedDirective));
  });
  await open(page);
  expect(await send(page, "order-1")).toMatchObject({ source: "executed" });
  await page.evaluate(async () => {
    app.sdk.start();
    await app.sdk.resume({ wait: 100 });
    await app.sdk.close();
  });
  expect(await kept(page, "refused")).toEqual([]);
});
