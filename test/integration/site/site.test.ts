import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import type { AxeResults } from "axe-core";
import { type Browser, chromium, type Page } from "playwright";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { findChromium } from "../../support/chromium.js";
import { type Loopback, serve } from "../../support/loopback.js";

const built = join(root, ".tmp/site");
const photographs = join(root, "reports/site");
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

// `--silent` keeps the figures of the build to itself; what fails it is told on stderr.
beforeAll(() => void execFileSync("npm", ["run", "--silent", "docs:build"], { cwd: root, stdio: "pipe" }), 300_000);

test("every page of docs is built, and every entry has a reference", () => {
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".md"),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(pages.filter((page) => !existsSync(join(built, page.replace(/\.md$/, ".html"))))).toEqual([]);
});

test("no page names a script, a style or a font of another host", () => {
  const html = readdirSync(built, { recursive: true, encoding: "utf8" }).filter((file) => /\.(html|css)$/.test(file));
  const foreign = html.filter((file) =>
    /(?:src|url\()\s*=?\s*["']?(?:https?:)?\/\/|<link[^>]+href="(?:https?:)?\/\//.test(
      readFileSync(join(built, file), "utf8"),
    ),
  );
  expect(foreign).toEqual([]);
});

const found = await findChromium();
// Where there is none, vitest.config.ts says so; under CI it is mandatory, and the launch fails.
describe.skipIf(!found && !process.env["CI"])("in Chromium", () => {
  let site: Loopback;
  let browser: Browser;

  beforeAll(async () => {
    site = await serve(async (request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://site");
      const file = join(built, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
      const body = await readFile(file).catch(() => undefined);
      response.writeHead(body ? 200 : 404, { "content-type": types[extname(file)] ?? "application/octet-stream" });
      response.end(body);
    });
    browser = await chromium.launch(found ?? {});
    await mkdir(photographs, { recursive: true });
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** Opens a page, and takes down what it complains about and whom it asks. */
  async function open(path: string, colorScheme: "light" | "dark"): Promise<[Page, string[]]> {
    const page = await browser.newPage({ colorScheme });
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("request", (request) => {
      if (!request.url().startsWith(site.url) && !request.url().startsWith("data:")) problems.push(request.url());
    });
    await page.goto(`${site.url}/${path}`, { waitUntil: "networkidle" });
    return [page, problems];
  }

  const pages = [
    "index",
    "quick-start",
    "concepts",
    "server",
    "operating",
    "recipes/checkout-page",
    "reference/samekey/inspector",
  ];
  const looks = pages.flatMap((page) => (["light", "dark"] as const).map((scheme) => [page, scheme] as const));

  test.each(looks)("%s, %s: no complaint, no other host, nothing for axe", async (path, scheme) => {
    const [page, problems] = await open(`${path}.html`, scheme);
    expect(await page.locator("html.dark").count()).toBe(scheme === "dark" ? 1 : 0);
    await page.screenshot({
      path: join(photographs, `${path.replaceAll("/", "-")}-${scheme}.png`),
      fullPage: path === "concepts",
    });
    const { violations } = (await page.evaluate(`${axe}; axe.run()`)) as AxeResults;
    expect(violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 5).map(({ html }) => html)])).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  test.each(["index", "concepts", "server", "comparison", "reference/samekey"])(
    "%s is no wider than a phone",
    async (path) => {
      const [page] = await open(`${path}.html`, "light");
      await page.setViewportSize({ width: 390, height: 800 });
      await page.screenshot({ path: join(photographs, `${path.replaceAll("/", "-")}-phone.png`) });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
      await page.close();
    },
  );

  test("the search finds a page by keyboard alone", async () => {
    const [page, problems] = await open("index.html", "light");
    await page.keyboard.press("Control+k");
    const input = page.locator("#localsearch-input");
    await vi.waitFor(
      async () => expect(await input.evaluate((box) => box === document.activeElement)).toBe(true),
      30_000,
    );
    await page.keyboard.type("dead letters");
    await page.locator("#localsearch-list a").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/operating/);
    expect(problems).toEqual([]);
    await page.close();
  });

  test("the first key leads past the navigation", async () => {
    const [page] = await open("concepts.html", "light");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("Skip to content");
    await page.close();
  });
});
