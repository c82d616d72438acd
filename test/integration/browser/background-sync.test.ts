import type { Page, Worker } from "playwright";
import { expect, test } from "vitest";
import { delay } from "../../../src/testing/index.js";
import type { Session } from "./pages/app.js";
import { arrived, eventually, kept, keysOf, send, sendAside, setUp } from "./tools.js";

const setting = setUp();

const TAG = "samekey:pay";

/** A shop in which ann is signed in, with its service worker at work. */
async function shopWithWorker({ backgroundSync = true } = {}): Promise<Page> {
  const page = await setting.tab();
  await page.evaluate(async (isThere) => {
    if (isThere) app.kept["asked"] = app.recordSync();
    await app.signIn({ user: "ann", token: "token-of-ann" });
    app.backgroundSync(app.open());
    const registration = await navigator.serviceWorker.register("/sync-worker.js");
    const { active } = await navigator.serviceWorker.ready;
    if (active?.state !== "activated") {
      await new Promise((resolve) => active?.addEventListener("statechange", resolve, { once: true }));
    }
    return registration.scope;
  }, backgroundSync);
  return page;
}

/** The browser's own say on service workers, from a tab that has nothing to do with the shop. */
async function browserSide() {
  const devtools = await setting.devtools(await setting.context.newPage());
  const ids: string[] = [];
  devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    ids.push(...registrations.map(({ registrationId }) => registrationId));
  });
  await devtools.send("ServiceWorker.enable");
  await eventually(() => ids.length).toBeGreaterThan(0);
  return {
    /** What Background Sync does once the device is online. */
    sync: ({ lastChance = false } = {}) =>
      devtools.send("ServiceWorker.dispatchSyncEvent", {
        origin: setting.site.url,
        registrationId: ids.at(-1) as string,
        tag: TAG,
        lastChance,
      }),
    killWorkers: () => devtools.send("ServiceWorker.stopAllWorkers"),
  };
}

const worker = (): Worker => setting.context.serviceWorkers().at(-1) as Worker;
/** What came of the worker's events. */
const events = () => worker().evaluate(() => shop.events);

/** Sends while offline, and closes the page. */
async function leaveOffline(page: Page, intent: string): Promise<void> {
  await setting.context.setOffline(true);
  await sendAside(page, intent);
  await eventually(() => kept(page, "asked")).toContain(TAG);
  await page.close();
  await setting.context.setOffline(false);
}

/** A page that is opened later, and only looks. */
async function laterPage(): Promise<Page> {
  const page = await setting.tab();
  await page.evaluate(() => app.open());
  return page;
}
const found = (page: Page, intent: string) =>
  page.evaluate(async (name) => {
    const record = await app.sdk.find({ name: "transfer", intent: name, owner: "ann" });
    return record?.blockedBy ?? record?.state;
  }, intent);
const signIn = (page: Page, session?: Session) => page.evaluate((who) => app.signIn(who), session);

test("what a page left offline is finished by the service worker, and shown by the page that is opened next", async () => {
  const { site } = setting;
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  expect(site.arrivals).toEqual([]);
  await browser.sync();
  await eventually(events).toEqual(["sync: done"]);
  expect(site.api.effects).toHaveLength(1);
  expect(site.arrivals[0]?.headers.authorization).toBe("Bearer token-of-ann");
  const later = await laterPage();
  expect(await found(later, "order-1")).toBe("succeeded");
  expect(await send(later, "order-1")).toMatchObject({ source: "store", data: { id: "1" } });
  expect(site.arrivals).toHaveLength(1);
});

test("a worker without credentials sends nothing: the operation is blocked until someone signs in", async () => {
  const { site } = setting;
  const page = await shopWithWorker();
  await signIn(page, { user: "ann" });
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  await browser.sync();
  await eventually(events).toEqual(["sync: done"]);
  const later = await laterPage();
  expect(await found(later, "order-1")).toBe("credentials");
  expect(site.arrivals).toEqual([]);
  await signIn(later, { user: "ann", token: "token-of-ann" });
  await browser.sync();
  await eventually(() => found(later, "order-1")).toBe("succeeded");
  expect(site.api.effects).toHaveLength(1);
});

test.each([
  ["nobody", undefined],
  ["somebody else", { user: "bob", token: "token-of-bob" }],
])("with %s signed in the worker sends nothing of who left it (F54)", async (_, session) => {
  const { site } = setting;
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const later = await laterPage();
  await later.evaluate(() => app.sdk.signOut());
  await signIn(later, session);
  const browser = await browserSide();
  await browser.sync();
  await eventually(events).toEqual(["sync: done"]);
  expect(site.arrivals).toEqual([]);
  expect(await found(later, "order-1")).toBe("pending");
});

test("signing out in a page ends the worker's attempt, and nobody sends it on (F54)", async () => {
  const { site } = setting;
  site.api.script(delay("1h"));
  let gone = 0;
  site.intercept = (_, response) => void response.on("close", () => gone++);
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  const later = await laterPage();
  await browser.sync();
  await arrived(site, 1);
  await later.evaluate(async () => {
    const leaving = app.sdk.signOut();
    await app.signIn(undefined);
    await leaving;
  });
  await eventually(() => gone).toBe(1);
  await browser.sync();
  await eventually(async () => (await events()).length).toBeGreaterThan(0);
  expect(site.arrivals).toHaveLength(1);
});

test("who signs out in a page while the worker still looks up who is signed in is heard (F54)", async () => {
  const { site } = setting;
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  await worker().evaluate(() => {
    shop.held = new Promise((resolve) => {
      shop.letGo = resolve;
    });
  });
  const later = await laterPage();
  await browser.sync();
  await eventually(() => later.evaluate(() => app.sdk.counts())).toEqual({ pending: 1 });
  await later.evaluate(async () => {
    const leaving = app.sdk.signOut();
    await app.signIn(undefined);
    await leaving;
  });
  await eventually(() => worker().evaluate(() => shop.signedOut)).toEqual(["ann"]);
  await worker().evaluate(() => shop.letGo());
  await eventually(events).toEqual(["sync: done"]);
  expect(site.arrivals).toEqual([]);
  expect(await found(later, "order-1")).toBe("pending");
});

test("an operation that cannot be finished now is left to the browser's next try", async () => {
  const { site } = setting;
  site.intercept = (_, response) => Boolean(response.writeHead(503, { "retry-after": "3600" }).end());
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  await browser.sync();
  await eventually(events).toEqual(["sync: pending"]);
  const later = await laterPage();
  expect(await found(later, "order-1")).toBe("pending");
});

test("a worker that is killed in the middle of an attempt is relieved at once by a page that waits", async () => {
  const { site } = setting;
  site.api.script(delay("1h"));
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  await browser.sync();
  await arrived(site, 1);
  const later = await laterPage();
  await sendAside(later, "order-1");
  await eventually(() => later.evaluate(() => app.sdk.counts())).toEqual({ pending: 1 });
  await browser.killWorkers();
  await eventually(() => kept(later, "order-1")).toEqual({ source: "replayed", data: { id: "1" } });
  expect(site.arrivals).toHaveLength(2);
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("a worker that is killed in the middle of an attempt is relieved by itself, when it is woken again", async () => {
  const { site } = setting;
  site.api.script(delay("1h"));
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  await browser.sync();
  await arrived(site, 1);
  await browser.killWorkers();
  await browser.sync();
  const later = await laterPage();
  await eventually(() => found(later, "order-1")).toBe("succeeded");
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("a worker that is replaced by a newer release in the middle loses and repeats nothing", async () => {
  const { site } = setting;
  site.api.script(delay(1_000), delay(1_000));
  const page = await shopWithWorker();
  await leaveOffline(page, "order-1");
  const browser = await browserSide();
  await browser.sync();
  await arrived(site, 1);
  site.release++;
  const later = await laterPage();
  await later.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    const old = registration.active;
    await registration.update();
    if (registration.active !== old) return;
    await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
  });
  await browser.sync();
  await eventually(() => found(later, "order-1")).toBe("succeeded");
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("without Background Sync a page that is left in the middle hands over to the worker", async () => {
  const { site } = setting;
  site.api.script(delay("1h"));
  const page = await shopWithWorker({ backgroundSync: false });
  await sendAside(page, "order-1");
  await arrived(site, 1);
  await page.goto("about:blank");
  await eventually(events).toEqual(["message: done"]);
  const later = await laterPage();
  expect(await send(later, "order-1")).toMatchObject({ source: "store", data: { id: "1" } });
  expect(site.arrivals).toHaveLength(2);
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});
