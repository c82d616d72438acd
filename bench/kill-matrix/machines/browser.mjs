import { startChromium } from "../../support/chromium.mjs";

/** One Chromium with a tab for each order, each on an origin of its own. It is killed as a whole. */
export class BrowserMachine {
  #options;
  #chromium;
  #context;
  #tabs = [];
  #sessions = [];
  #waiting = 0;
  #allCalled;
  #syncing;

  constructor(options) {
    this.#options = options;
  }

  async start() {
    const { chromium, home } = this.#options;
    this.#chromium = await startChromium(chromium, home);
    this.#context = this.#chromium.context;
    await this.openTabs();
  }

  async openTabs() {
    const { size, tabs = 1, contestant } = this.#options;
    this.#sessions = [];
    const all = Array.from({ length: size }, (_, i) => Promise.all(Array.from({ length: tabs }, () => this.#open(i))));
    this.#tabs = await Promise.all(all);
    if (contestant.syncTag) this.#syncing = setInterval(() => this.#sync(contestant.syncTag), 1_000);
  }

  async #open(i) {
    const { contestant, origin, window } = this.#options;
    const page = await this.#context.newPage();
    page.setDefaultTimeout(120_000);
    if (contestant.syncTag) await this.#observe(page, origin(i));
    await page.goto(`${origin(i)}/${contestant.id}/?window=${window}`);
    await page.waitForFunction(() => globalThis.app !== undefined);
    return page;
  }

  async #observe(page, origin) {
    const session = await this.#context.newCDPSession(page);
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      for (const { registrationId, scopeURL } of registrations) {
        if (!scopeURL.startsWith(origin)) continue;
        this.#sessions.push({ session, origin, registrationId });
      }
    });
    await session.send("ServiceWorker.enable");
  }

  /** This build of Chromium has no background sync: in its place we fire the event, far more often than it would. */
  #sync(tag) {
    if (this.#isOffline) return;
    for (const { session, origin, registrationId } of this.#sessions) {
      session
        .send("ServiceWorker.dispatchSyncEvent", { origin, registrationId, tag, lastChance: false })
        .catch(() => {});
    }
  }

  async submit(orders, { times = 1 } = {}) {
    const call = ([order, n]) => {
      for (let i = 0; i < n; i++) globalThis.app.submit(order);
    };
    await Promise.all(orders.flatMap((order, i) => this.#tabs[i].map((page) => page.evaluate(call, [order, times]))));
  }

  /** Every tab calls, and in the same task waits for an answer that never comes; when all do, the plug is pulled. */
  async submitAndDie(orders) {
    this.#waiting = orders.length;
    const all = new Promise((resolve) => {
      this.#allCalled = resolve;
    });
    const callAndWait = (order) => {
      globalThis.app.submit(order);
      const request = new XMLHttpRequest();
      request.open("GET", "/called", false);
      request.send();
    };
    for (const [i, order] of orders.entries()) this.#tabs[i][0].evaluate(callAndWait, order).catch(() => {});
    await all;
    await this.kill();
  }

  /** A tab of `submitAndDie` has called. */
  called() {
    if (--this.#waiting === 0) this.#allCalled?.();
  }

  status(order, i) {
    return this.#tabs[i][0].evaluate((it) => globalThis.app.status(it), order);
  }

  #isOffline = false;
  async offline(isOffline) {
    this.#isOffline = isOffline;
    if (isOffline) await this.#context.setOffline(true);
  }

  /** Ends the renderers, not the browser. */
  async crashTabs() {
    clearInterval(this.#syncing);
    const crash = async (page) => {
      const session = await this.#context.newCDPSession(page);
      const crashed = new Promise((resolve) => page.once("crash", resolve));
      session.send("Page.crash").catch(() => {});
      await crashed;
    };
    await Promise.all(this.#tabs.flat().map(crash));
  }

  async kill() {
    clearInterval(this.#syncing);
    await this.#chromium.kill();
  }
}
