/** The programs of the pages on service workers, as they stand there, in Chromium. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { build } from "esbuild";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { entries, importName, root } from "../../../scripts/entries.mjs";
import { createMockServer } from "../../../src/testing/index.js";
import { findChromium } from "../../support/chromium.js";
import { type Loopback, serve } from "../../support/loopback.js";
import { filesOf } from "../../support/snippets.js";

const soon = { timeout: 30_000, interval: 50 };
const endings: (() => unknown)[] = [];
let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch((await findChromium()) ?? {});
}, 60_000);
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});
afterAll(() => browser?.close());

/** The scripts among a page's files, as a bundler makes them for browsers; `samekey` is the sources as they stand. */
async function bundled(files: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  mkdirSync(join(root, ".tmp"), { recursive: true });
  // Below the project, so that packages are found.
  const directory = mkdtempSync(join(root, ".tmp/docs-"));
  endings.push(() => rmSync(directory, { recursive: true, force: true }));
  const scripts = [...files].filter(([name]) => /\.[jt]s$/.test(name));
  for (const [name, code] of scripts) writeFileSync(join(directory, name), code);
  const { outputFiles } = await build({
    entryPoints: scripts.map(([name]) => join(directory, name)),
    outdir: "/",
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["browser"],
    logLevel: "error",
    alias: Object.fromEntries(
      entries.map(([subpath, sources]) => [importName(subpath), `${root}src/${sources["browser"] ?? sources.default}`]),
    ),
  });
  return new Map(outputFiles.map(({ path, text }) => [path, text]));
}

const types: Record<string, string> = { html: "text/html", js: "text/javascript", webmanifest: "application/json" };

/** The files at one origin, with an API that remembers keys beside them. */
async function open(files: ReadonlyMap<string, string>) {
  const api = createMockServer({ baseUrl: "http://api.test" });
  let isDown = false;
  let scripts: ReadonlyMap<string, string> = new Map();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", url = "/", headers } = request;
    if (method === "GET") {
      const name = url === "/" ? "index.html" : url.slice(1);
      const body = scripts.get(`/${name}`) ?? files.get(name);
      response.writeHead(body === undefined ? 404 : 200, { "content-type": types[name.split(".").pop() ?? ""] ?? "" });
      return void response.end(body);
    }
    if (isDown) return void request.destroy();
    const answer = await api.fetch(`${api.baseUrl}${url}`, {
      method,
      headers: headers as Record<string, string>,
      body: await buffer(request),
    });
    response.writeHead(answer.status, [...answer.headers].flat());
    response.end(await answer.text());
  };
  const site: Loopback = await serve(handle);
  endings.push(() => site.close());
  const here = [...files].map(([name, code]) => [name, code.replaceAll("https://api.example.com", site.url)] as const);
  scripts = await bundled(new Map(here));
  const context = await browser.newContext();
  const problems: string[] = [];
  context.on("weberror", (error) => problems.push(String(error.error())));
  endings.push(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });
  /** A worker, and a page that is just closing, may still reach a server while its pages are told that they are offline. */
  const setOffline = async (offline: boolean): Promise<void> => {
    isDown = offline;
    await context.setOffline(offline);
  };
  return { api, context, setOffline, url: site.url };
}

/** A page whose service worker is at work. */
async function visit(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await page.evaluate(() => navigator.serviceWorker.ready);
  return page;
}

/** What Background Sync does once the device is online. */
async function sync(context: BrowserContext, origin: string, tag: string): Promise<void> {
  const devtools = await context.newCDPSession(await context.newPage());
  const ids: string[] = [];
  devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    ids.push(...registrations.map(({ registrationId }) => registrationId));
  });
  await devtools.send("ServiceWorker.enable");
  await vi.waitFor(() => expect(ids.length).toBeGreaterThan(0), soon);
  const registrationId = ids.at(-1) ?? "";
  await devtools.send("ServiceWorker.dispatchSyncEvent", { origin, registrationId, tag, lastChance: false });
}

test("the app of docs/recipes/offline-app.md starts and records offline, and the worker sends what a closed page left", async () => {
  const { api, context, setOffline, url } = await open(filesOf("docs/recipes/offline-app.md"));
  const page = await visit(context, url);
  await page.reload(); // from now on the worker answers for the page

  await setOffline(true);
  await page.reload();
  for (const text of ["buy milk", "and bread"]) {
    await page.fill("input", text);
    await page.click("button");
    await page.waitForFunction(() => document.querySelector("input")?.value === "");
  }
  expect(await page.locator("li").allTextContents()).toEqual(["buy milk: pending", "and bread: pending"]);
  await page.close();
  expect(api.requests).toEqual([]);

  await setOffline(false);
  await sync(context, url, "samekey:notes");
  await vi.waitFor(() => expect(api.effects.length).toBe(2), soon);
  expect(api.effects.map(({ body }) => body)).toEqual([{ text: "buy milk" }, { text: "and bread" }]);

  const next = await visit(context, url);
  await vi.waitFor(async () => expect(await next.locator("li").count()).toBe(0), soon);
  expect(api.effects).toHaveLength(2);
});

test("the modules of docs/service-worker.md finish an operation after the page is gone, with its owner's credentials", async () => {
  const files = new Map(filesOf("docs/service-worker.md"));
  files.set("index.html", '<!doctype html><script type="module" src="/shop.js"></script>');
  files.set(
    "shop.ts",
    `import { saveSession } from "./session.js";
     import { sdk } from "./sdk.js";
     Object.assign(globalThis, { shop: { saveSession, sdk } });
     await import("./page.js");`,
  );
  const { api, context, url } = await open(files);
  const page = await visit(context, url);
  await page.evaluate(() => shop.saveSession({ user: "ann", token: "t-1" }));

  await context.setOffline(true);
  await page.evaluate(() => shop.sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).save());
  await page.close();
  await context.setOffline(false);
  expect(api.requests).toEqual([]);

  await sync(context, url, "samekey:checkout");
  await vi.waitFor(() => expect(api.effects.length).toBe(1), soon);
  expect(api.requests[0]?.headers.get("authorization")).toBe("Bearer t-1");
});

/** What the test's own entry shows of the modules. */
declare const shop: {
  readonly sdk: { operation(name: string, body: object, options: object): { save(): Promise<unknown> } };
  saveSession(session: object): Promise<void>;
};
