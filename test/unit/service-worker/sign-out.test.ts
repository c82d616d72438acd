import { post } from "samekey";
import { backgroundSync } from "samekey/service-worker";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createBrowser } from "../client/kit.js";

let scope: EventTarget;

beforeEach(() => {
  scope = new EventTarget();
  vi.stubGlobal("ServiceWorkerGlobalScope", class {});
  vi.stubGlobal("registration", {});
  vi.stubGlobal("serviceWorker", { state: "activating" });
  vi.stubGlobal("addEventListener", scope.addEventListener.bind(scope));
});
afterEach(() => vi.unstubAllGlobals());

/** A page in which ann is signed in and has saved an order, and a service worker that finds out who is signed in. */
async function shop() {
  const browser = createBrowser();
  const operations = { transfer: post<object>("/transfers") };
  const page = browser.open({ owner: () => "ann", operations });
  await browser.clock.until(page.operation("transfer", {}, { intent: "order-1" }).save());
  let user: string | undefined;
  const worker = browser.open({ owner: () => user, operations });
  return {
    page,
    server: browser.server,
    /** A session that is found, and whose owner is gone by then. */
    leaves: async (): Promise<string> => {
      await browser.open({ owner: () => "ann", operations }).signOut();
      return "ann";
    },
    counts: () => browser.clock.until(page.counts({ owner: "*" })),
    /** A `sync` event, for which `prepare` finds these sessions one after the other. */
    sync(...sessions: readonly (() => Promise<string | undefined>)[]): Promise<unknown> {
      const left = [...sessions];
      const prepare = async (): Promise<void> => {
        user = await left.shift()?.();
      };
      backgroundSync(worker, { prepare });
      let work: Promise<unknown> | undefined;
      const waitUntil = (promise: Promise<unknown>): void => {
        work = promise;
      };
      scope.dispatchEvent(Object.assign(new Event("sync"), { tag: "samekey:test", waitUntil }));
      return browser.clock.until(work as Promise<unknown>);
    },
  };
}

describe("who signs out in a page while the worker awaits `prepare` (F54)", () => {
  test("is not acted for, although his session had been found", async () => {
    const it = await shop();
    await it.sync(it.leaves, async () => undefined);
    expect(it.server.requests).toEqual([]);
    expect(await it.counts()).toEqual({ pending: 1 });
  });

  test("and is back before it looks again, is acted for", async () => {
    const it = await shop();
    await it.sync(it.leaves, async () => "ann");
    expect(it.server.requests).toHaveLength(1);
    expect(await it.counts()).toEqual({ succeeded: 1 });
  });

  test("and does so again and again, makes the browser try later", async () => {
    const it = await shop();
    await expect(it.sync(it.leaves, it.leaves, it.leaves, it.leaves)).rejects.toMatchObject({ code: "pending" });
    expect(it.server.requests).toEqual([]);
  });
});
