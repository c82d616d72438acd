import { expect, test } from "vitest";
import { delay } from "../../../src/testing/index.js";
import { arrived, eventually, kept, keysOf, open, openStill, send, sendAside, setUp } from "./tools.js";

const setting = setUp();

test("the record is committed and synced before the first byte of a request arrives (F2 F72)", async () => {
  const { site, context, tab, shop } = setting;
  await context.addInitScript(() => {
    const log: string[] = [];
    Object.assign(globalThis, { log });
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...given: Parameters<typeof begin>) {
      const tx = begin.apply(this, given);
      if (tx.mode === "readwrite") tx.addEventListener("complete", () => log.push(`${tx.durability} complete`));
      return tx;
    };
    const original = globalThis.fetch;
    globalThis.fetch = (...given) => {
      log.push("fetch");
      return original(...given);
    };
  });
  const reader = await tab();
  let stored: unknown;
  site.intercept = (request, response) => {
    // Read by another tab, while the request stands at the server's door.
    void reader
      .evaluate(() => app.dump())
      .then((rows) => {
        stored = rows;
        site.intercept = () => undefined;
        response.destroy();
      });
    return request.method === "POST";
  };
  const page = await shop();
  const { key } = await send(page, "order-1");
  const log = await page.evaluate(() => (globalThis as unknown as { log: string[] }).log);
  expect(log.slice(0, 2)).toEqual(["strict complete", "fetch"]);
  expect(stored).toContainEqual(
    expect.objectContaining({
      record: expect.objectContaining({
        key,
        intent: "order-1",
        state: "pending",
        mark: expect.objectContaining({ attempt: 1 }),
      }),
    }),
  );
});

test("a page reloaded between the effect and its answer asks again under the same key: one effect (F2)", async () => {
  const { site, shop } = setting;
  site.api.script(delay("1h"));
  const page = await shop();
  await sendAside(page, "cart-7");
  await eventually(() => site.api.effects.length).toBe(1);
  await page.reload();
  // Its predecessor is known to be gone: by this clock the lease would never end.
  await openStill(page);
  expect(await send(page, "cart-7")).toMatchObject({ source: "replayed", data: { id: "1" } });
  expect(site.arrivals).toHaveLength(2);
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("a page that dies between the answer and its record hears the answer again (F49)", async () => {
  const { site, tab } = setting;
  const page = await tab();
  const reloaded = page.waitForEvent("load");
  await page.evaluate(() => {
    localStorage.setItem("user", "ann");
    const fetch: typeof globalThis.fetch = async (...given) => {
      const response = await globalThis.fetch(...given);
      await response.clone().arrayBuffer();
      location.reload();
      return new Promise(() => {});
    };
    void app.open({ fetch }).operation("transfer", { amount: 5 }, { intent: "cart-8" }).send();
  });
  await reloaded;
  await open(page);
  await page.evaluate(() => {
    app.sdk.on("settled", ({ key, response }) => (app.kept["settled"] = { key, replayed: response?.replayed }));
    app.sdk.start();
  });
  await eventually(() => kept(page, "settled")).toEqual({
    key: site.arrivals[0]?.key,
    replayed: true,
  });
  expect(site.api.effects).toHaveLength(1);
});

test("what was answered before the reload is answered from the store, and nothing is sent", async () => {
  const { site, shop } = setting;
  const page = await shop();
  const { key } = await send(page, "cart-9");
  // A success is told while it is still being written down.
  await eventually(() => page.evaluate(() => app.sdk.counts())).toMatchObject({ succeeded: 1 });
  await page.reload();
  await open(page);
  expect(await send(page, "cart-9")).toEqual({ key, source: "store", data: { id: "1" } });
  await arrived(site, 1);
  expect(site.arrivals).toHaveLength(1);
});
