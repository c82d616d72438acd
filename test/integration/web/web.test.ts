import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { findChromium } from "../../support/chromium.js";
import { startPostgres } from "../../support/postgres.js";
import { startServerProcess } from "../../support/server-process.js";

const configFile = fileURLToPath(new URL("../../../examples/web/vite.config.ts", import.meta.url));

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let bank: Awaited<ReturnType<typeof startServerProcess>>;
let gateway: Server;
let site: PreviewServer;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let url: string;
/** What the gateway does with the next transfer. */
let fault: "none" | "lose-response" = "none";
let keys: string[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  bank = await startServerProcess(postgres.url);
  gateway = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const write = request.method === "POST";
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !/^(host|connection|content-length)$/.test(name)),
    );
    const answer = await fetch(`${bank.url}${request.url}`, {
      method: request.method ?? "GET",
      headers: headers as Record<string, string>,
      ...(write && { body: Buffer.concat(body) }),
    });
    if (write) keys.push(String(request.headers["idempotency-key"]));
    if (write && fault === "lose-response") return void request.socket.destroy();
    response.writeHead(
      answer.status,
      Object.fromEntries([...answer.headers].filter(([name]) => name !== "transfer-encoding")),
    );
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  const { port } = gateway.address() as { port: number };
  process.env["API"] = `http://127.0.0.1:${port}`;
  await build({ configFile });
  site = await preview({ configFile, preview: { port: 0, host: "127.0.0.1" } });
  url = site.resolvedUrls?.local[0] ?? "";
  browser = await chromium.launch({ ...((await findChromium()) ?? {}) });
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  gateway?.close();
  await bank?.stop();
  await postgres?.stop();
});

beforeEach(async () => {
  fault = "none";
  keys = [];
  context = await browser.newContext();
  page = await context.newPage();
});

afterEach(() => context.close());

const state = (text: string | RegExp) =>
  page.waitForFunction(
    ([source, flags]) => new RegExp(source as string, flags).test(document.getElementById("state")?.textContent ?? ""),
    text instanceof RegExp ? [text.source, text.flags] : [`^${text}`, ""],
    { timeout: 20_000 },
  );

/** The page shows the transfer's own id, as the server made it. */
const paid = () => state(/^succeeded, receipt [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

async function ledger(): Promise<unknown[]> {
  const entries = (await (await fetch(`${bank.url}/ledger?account=8842`)).json()) as
    | { entries?: unknown[] }
    | unknown[];
  return Array.isArray(entries) ? entries : (entries.entries ?? []);
}

test("a page pays once, however often the button is clicked", async () => {
  const before = (await ledger()).length;
  await page.goto(`${url}?order=clicks`);
  await page.evaluate(() => {
    for (let click = 0; click < 5; click++) document.querySelector("button")?.click();
  });
  await paid();
  expect(keys).toHaveLength(1);
  expect(await ledger()).toHaveLength(before + 1);
  expect(await page.locator("#settled li").allTextContents()).toEqual(["succeeded: order clicks"]);
  await page.getByLabel("Settled", { exact: true }).check();
  await page
    .locator("samekey-inspector")
    .getByRole("button", { name: /^succeeded transfer clicks 1 attempt/ })
    .waitFor();
});

test("a payment whose answer was lost survives a reload: same order, same key, one entry", async () => {
  const before = (await ledger()).length;
  await page.goto(`${url}?order=reload`);
  fault = "lose-response";
  await page.click("button");
  await expect.poll(() => keys.length, { timeout: 10_000 }).toBeGreaterThan(0);
  await page.reload();
  fault = "none";
  await paid();
  expect(new Set(keys).size).toBe(1);
  expect(await ledger()).toHaveLength(before + 1);
});

test("a page that goes offline after it was loaded shows what waits, and sends it when it is back", async () => {
  const before = (await ledger()).length;
  await page.goto(`${url}?order=offline`);
  await context.setOffline(true);
  await page.click("button");
  await state("pending");
  await page.waitForSelector("#pending li");
  expect(await page.locator("#network").isVisible()).toBe(true);
  expect(keys).toEqual([]);
  await context.setOffline(false);
  await paid();
  expect(keys).toHaveLength(1);
  expect(await ledger()).toHaveLength(before + 1);
  expect(await page.locator("#pending li").count()).toBe(0);
});

test("what was paid yesterday is answered from the store", async () => {
  await page.goto(`${url}?order=again`);
  await page.click("button");
  await paid();
  await page.reload();
  await paid();
  await page.click("button");
  await paid();
  expect(keys).toHaveLength(1);
});
