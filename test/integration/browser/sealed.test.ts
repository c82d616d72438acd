import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright";
import { expect, test } from "vitest";
import { delay, status } from "../../../src/testing/index.js";
import { findChromium } from "../../support/chromium.js";
import { arrived, eventually, open, PLAIN_HOST, setUp } from "./tools.js";

const setting = setUp();

/** Makes the page's Sdk, which seals what it stores. */
async function openSealed(page: Page): Promise<void> {
  await page.evaluate(() => {
    localStorage.setItem("user", "ann");
    app.open({ seal: app.webCryptoSeal() });
  });
}

/** Sends, and answers with what came of it: the answer, or the error. */
const send = (page: Page, intent: string, amount = 5) =>
  page.evaluate(
    (call) =>
      app.sdk
        .operation("transfer", { amount: call.amount }, { intent: call.intent })
        .send()
        .then(
          ({ data, source }) => ({ data, source }),
          ({ code, message }) => ({ code, message }),
        ),
    { intent, amount },
  );

/** The keys that the browser keeps for the seal, and whether a program can read them out. */
const keysOf = (page: Page) =>
  page.evaluate(async () => {
    const opening = indexedDB.open("samekey-seal:pay");
    const database = await new Promise<IDBDatabase>((resolve) => {
      opening.onsuccess = () => resolve(opening.result);
    });
    const reading = database.transaction("keys").objectStore("keys").getAll();
    const [kept] = await new Promise<{ id: string; key: CryptoKey }[][]>((resolve) => {
      reading.onsuccess = () => resolve(reading.result);
    });
    database.close();
    return (kept ?? []).map(({ id, key }) => ({ id, extractable: key.extractable }));
  });

test("four tabs that make the key at once have one, which no program can read out, and read each other's records", async () => {
  const tabs = await Promise.all(Array.from({ length: 4 }, () => setting.tab()));
  await Promise.all(tabs.map(openSealed));
  const sent = await Promise.all(tabs.map((tab, i) => send(tab, `order-${i}`, i)));
  expect(sent).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ source: "executed" })));
  expect(await keysOf(tabs[0] as Page)).toEqual([{ id: expect.any(String), extractable: false }]);
  for (const tab of tabs) {
    const read = await tab.evaluate(async () => {
      const all: unknown[] = [];
      for await (const { request, response } of app.sdk.list()) {
        all.push([request.sealed, response?.sealed, JSON.parse(new TextDecoder().decode(request.body)).amount]);
      }
      return all;
    });
    expect(read.map((row) => (row as unknown[])[2]).sort()).toEqual([0, 1, 2, 3]);
    expect(read.flatMap((row) => (row as unknown[]).slice(0, 2)).filter(Boolean)).toEqual([]);
  }
});

test("a sealed operation is taken up by the page that comes after, byte for byte", async () => {
  const { site, tab } = setting;
  const bodies: string[] = [];
  site.intercept = (request) => {
    request.on("data", (chunk: Buffer) => bodies.push(chunk.toString()));
    return false;
  };
  site.api.script(delay("1h"));
  const page = await tab();
  await openSealed(page);
  void send(page, "order-1", 1.1e-7).catch(() => {});
  await arrived(site, 1);
  await page.reload();
  await openSealed(page);
  expect(await send(page, "order-1", 1.1e-7)).toMatchObject({ data: { id: "1" } });
  expect(new Set(bodies)).toEqual(new Set(['{"amount":1.1e-7}']));
});

test("the key is lost and the store is not: the operation is blocked, naming the key", async () => {
  const { site, tab } = setting;
  site.api.script(status(503, { times: 1000 }));
  const page = await tab();
  await openSealed(page);
  void send(page, "order-1").catch(() => {});
  await arrived(site, 1);
  const [key] = await keysOf(page);
  await page.reload();
  await page.evaluate(async () => {
    const deleting = indexedDB.deleteDatabase("samekey-seal:pay");
    await new Promise((resolve) => {
      deleting.onsuccess = resolve;
    });
  });
  await openSealed(page);
  const told = await page.evaluate(async () => {
    const [record] = [await app.sdk.find({ name: "transfer", intent: "order-1" })];
    return app.sdk
      .attach(record?.id ?? "")
      .send()
      .catch(({ code, message }) => ({ code, message }));
  });
  expect(told).toMatchObject({ code: "blocked", message: expect.stringContaining(`under key "${key?.id}"`) });
});

test("on plain http the error names the remedy, and nothing is sent", async () => {
  const page = await setting.tab(`http://${PLAIN_HOST}:${setting.site.port}`);
  await openSealed(page);
  expect(await send(page, "order-1")).toMatchObject({
    code: "bad_option",
    message: expect.stringContaining("serve the page over https, or leave `seal` out"),
  });
  expect(setting.site.arrivals).toEqual([]);
});

test.each([
  ["sealed, nothing of a body or an answer is", true, []],
  ["not sealed, both are", false, ["SENTINEL-BODY", "SENTINEL-ANSWER"]],
] as const)("%s in IndexedDB's files on disk", async (_, sealed, expected) => {
  const { site } = setting;
  site.intercept = (request, response) => {
    request.resume();
    response.writeHead(201, { "content-type": "application/json" }).end('{"id":"SENTINEL-ANSWER"}');
    return true;
  };
  const profile = mkdtempSync(join(tmpdir(), "samekey-profile-"));
  const context = await chromium.launchPersistentContext(profile, (await findChromium()) ?? {});
  try {
    const page = await context.newPage();
    await page.goto(site.url);
    if (sealed) await openSealed(page);
    else await open(page);
    await page.evaluate(() =>
      app.sdk.operation("transfer", { amount: 1, iban: "SENTINEL-BODY" } as never, { intent: "order-1" }).send(),
    );
    const folder = join(profile, "Default", "IndexedDB");
    const found = (): string[] => {
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const read = files.map((file) => readFileSync(join(file.parentPath, file.name)));
      expect(
        read.some((file) => file.includes("transfer")),
        "the operation is there",
      ).toBe(true);
      return ["SENTINEL-BODY", "SENTINEL-ANSWER"].filter((word) => read.some((file) => file.includes(word)));
    };
    await eventually(() => page.evaluate(async () => (await app.sdk.counts()).succeeded)).toBe(1);
    await context.close();
    expect(found()).toEqual(expected);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
});
