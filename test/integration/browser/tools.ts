/** One Chromium and one site for each file of tests, and a profile of its own for each test. */

import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { findChromium } from "../../support/chromium.js";
import { openSite, type Site } from "./site.js";

/** A name for this machine that no browser takes for it: pages from there are no secure context. */
export const PLAIN_HOST = "shop.test";

export interface Setting {
  readonly site: Site;
  readonly context: BrowserContext;
  /** A new tab with the site's page. */
  tab(url?: string): Promise<Page>;
  /** A new tab of the shop, in which `user` is signed in and the Sdk made. */
  shop(user?: string): Promise<Page>;
  devtools(page: Page): Promise<CDPSession>;
}

export function setUp(): Setting {
  let site: Site;
  let browser: Browser;
  let context: BrowserContext;
  const problems: string[] = [];

  beforeAll(async () => {
    site = await openSite();
    const found = await findChromium();
    const args = [...(found?.args ?? []), `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`];
    browser = await chromium.launch({ ...found, args });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });
  beforeEach(async () => {
    site.reset();
    problems.length = 0;
    context = await browser.newContext();
    context.on("weberror", (error) => problems.push(String(error.error())));
    context.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) problems.push(message.text());
    });
  });
  afterEach(async () => {
    await context.close();
    expect(problems, "no page threw, and none broke its policy").toEqual([]);
  });

  const tab: Setting["tab"] = async (url = site.url) => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  return {
    get site() {
      return site;
    },
    get context() {
      return context;
    },
    tab,
    async shop(user = "ann") {
      const page = await tab();
      await open(page, user);
      return page;
    },
    devtools: (page) => context.newCDPSession(page),
  };
}

/** Makes the page's Sdk. */
export async function open(page: Page, user = "ann"): Promise<void> {
  await page.evaluate((name) => {
    localStorage.setItem("user", name);
    app.open();
  }, user);
}

/** The same, with a clock that stands still: no pause and no lease ever ends, so that it goes on by what it is told alone. */
export async function openStill(page: Page, user = "ann"): Promise<void> {
  await page.evaluate((name) => {
    localStorage.setItem("user", name);
    const sleep = (_: number, signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
    const now = Date.now();
    app.open({ clock: { now: () => now, sleep } });
  }, user);
}

/** Sends from the page; resolves, or rejects, as the page's own promise does. */
export function send(page: Page, intent: string, amount = 5) {
  return page.evaluate(
    async (call) => {
      const { key, data, source } = await app.sdk
        .operation("transfer", { amount: call.amount }, { intent: call.intent })
        .send();
      return { key, data, source };
    },
    { intent, amount },
  );
}

/** Sends and does not wait: what came of it is kept in the page, under the intent. */
export function sendAside(page: Page, intent: string, amount = 5): Promise<void> {
  return page.evaluate(
    (call) => {
      const sending = app.sdk.operation("transfer", { amount: call.amount }, { intent: call.intent }).send();
      sending.then(
        ({ source, data }) => (app.kept[call.intent] = { source, data }),
        ({ code, message, cause }) =>
          (app.kept[call.intent] = { code, message, ...(cause && { cause: String(cause) }) }),
      );
    },
    { intent, amount },
  );
}

/** What came of {@link sendAside}. */
export const kept = (page: Page, intent: string) => page.evaluate((name) => app.kept[name], intent);

/** Less than any lease or look-round takes: what is seen within it was told, or woken. */
const SOON = 10_000;

export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: SOON, interval: 20 });

export const arrived = (site: Site, count: number): Promise<void> =>
  eventually(() => site.arrivals.length).toBeGreaterThanOrEqual(count);

export const keysOf = (site: Site): Set<string | undefined> => new Set(site.arrivals.map(({ key }) => key));

/** Watches how many requests under one key are at the server at once; answers with the most there ever were. */
export function watchInFlight(site: Site): () => number {
  const inFlight = new Map<string, number>();
  let most = 0;
  site.intercept = (request, response) => {
    const key = String(request.headers["idempotency-key"]);
    const now = (inFlight.get(key) ?? 0) + 1;
    inFlight.set(key, now);
    most = Math.max(most, now);
    response.on("close", () => inFlight.set(key, (inFlight.get(key) ?? 0) - 1));
    return undefined;
  };
  return () => most;
}

/** Where Playwright keeps the session of its own with a page. */
interface PlaywrightInside {
  readonly _connection: {
    toImpl(page: Page): {
      delegate: { _mainFrameSession: { _client: { send(method: string, what: object): unknown } } };
    };
  };
}

/**
 * Freezes a tab in the background, as browsers do to spare the battery: its timers, promises and answers stand still.
 *
 * @returns the way to thaw it
 */
export async function freeze(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(() => {
    document.addEventListener("freeze", () => (app.kept["frozen"] = true));
  });
  // Playwright has every page take itself for the one in front, and such a one is never frozen.
  const { _client } = (page as unknown as PlaywrightInside)._connection.toImpl(page).delegate._mainFrameSession;
  await _client.send("Emulation.setFocusEmulationEnabled", { enabled: false });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
  expect(await kept(page, "frozen")).toBe(true);
  return async () => {
    await devtools.send("Page.setWebLifecycleState", { state: "active" });
  };
}
