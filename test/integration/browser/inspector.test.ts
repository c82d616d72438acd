import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright";
import { expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { eventually, setUp } from "./tools.js";

const setting = setUp();
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const photographs = join(root, "reports/inspector");

async function open(): Promise<Page> {
  const page = await setting.tab(`${setting.site.url}/inspector`);
  await page.waitForFunction(() => customElements.get("samekey-inspector") !== undefined);
  return page;
}

const rows = (page: Page) => page.locator("samekey-inspector ul.operations > li");
const row = (page: Page, intent: string) => rows(page).filter({ hasText: intent });
const told = (page: Page) =>
  rows(page).evaluateAll((items) =>
    items.map((item) => item.querySelector("button")?.textContent?.replace(/\s+/g, " ")),
  );

/** Records, and waits for nothing else. */
const save = (page: Page, intent: string, note = "") =>
  page.evaluate(
    async ([name, text]) => {
      const body = { amount: 5, note: text };
      return (await inspected.sdk.operation("transfer", body, { intent: name as string }).save()).id;
    },
    [intent, note],
  );

/** One whose answer is lost until its key is too old. */
async function makeDeadLetter(page: Page, intent: string): Promise<string> {
  setting.site.intercept = (request) => {
    request.socket.destroy();
    return true;
  };
  const id = await page.evaluate(async (name) => {
    const handle = inspected.sdk.operation("brief", { amount: 5 }, { intent: name });
    await handle.outcome();
    return handle.getSnapshot().id;
  }, intent);
  setting.site.intercept = () => undefined;
  return id as string;
}

test("operations are shown as they come and go, in this tab and in others", async () => {
  const [page, other] = [await open(), await open()];
  await eventually(() => page.locator("samekey-inspector .note").last().textContent()).toBe("Nothing to show.");
  await save(page, "order-1");
  await save(other, "order-2");
  for (const each of [page, other]) {
    await eventually(() => told(each)).toEqual([
      expect.stringMatching(/^pending transfer order-2 0 attempts/),
      expect.stringMatching(/^pending transfer order-1 0 attempts/),
    ]);
  }
  await other.evaluate(() =>
    inspected.sdk.operation("transfer", { amount: 5, note: "" }, { intent: "order-1" }).send(),
  );
  await eventually(() => told(page)).toEqual([expect.stringMatching(/^pending transfer order-2/)]);
  await page.getByLabel("Settled", { exact: true }).check();
  await eventually(() => told(page)).toEqual([expect.stringMatching(/^succeeded transfer order-1 1 attempt /)]);
  await eventually(() => page.getByRole("status").textContent()).toBe("1 pending, 1 succeeded");
});

test("an operation unfolds to its attempts and its body, whose markup is text", async () => {
  const page = await open();
  const { site } = setting;
  let left = 1;
  site.intercept = (_, response) => {
    if (left === 0) return false;
    left -= 1;
    response.writeHead(503).end();
    return true;
  };
  await page.evaluate(() =>
    inspected.sdk
      .operation("transfer", { amount: 5, note: "<img src=x onerror=alert(1)>" }, { intent: "order-1" })
      .send(),
  );
  await page.getByLabel("All").check();
  await row(page, "order-1").getByRole("button").first().click();
  await eventually(() => row(page, "order-1").locator("ol.timeline li").allInnerTexts()).toEqual([
    expect.stringMatching(/503/),
    expect.stringMatching(/succeeded, 201/),
  ]);
  await row(page, "order-1").getByText("Request body").click();
  expect(await row(page, "order-1").locator("pre").textContent()).toContain("<img src=x onerror=alert(1)>");
  expect(await page.locator("samekey-inspector img").count()).toBe(0);
});

test("a dead letter is resolved by the keyboard alone", async () => {
  const page = await open();
  const id = await makeDeadLetter(page, "order-1");
  const press = (...keys: string[]) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  const focused = () =>
    page.evaluate(() => {
      const active = document.activeElement?.shadowRoot?.activeElement as HTMLElement | null;
      return (active?.textContent || active?.id || active?.getAttribute("value"))?.replace(/\s+/g, " ");
    });
  await eventually(() => told(page)).toEqual([expect.stringMatching(/^unresolved brief order-1 \(key expired\)/)]);

  await press("Tab");
  expect(await focused()).toBe("open");
  await press("Tab");
  expect(await focused()).toMatch(/^unresolved brief order-1/);
  await press("Enter");
  await eventually(() => row(page, "order-1").locator(".actions button").allInnerTexts()).toEqual([
    "It was applied",
    "It was not applied",
    "Reissue",
    "Discard",
  ]);
  await press("Tab", "Tab");
  for (let left = 6; left > 0 && (await focused()) !== "Reissue"; left -= 1) await press("Tab");
  expect(await focused()).toBe("Reissue");

  await press("Enter");
  await page.getByRole("dialog").waitFor();
  await press("Escape");
  await eventually(focused).toBe("Reissue");
  expect(await page.evaluate((one) => inspected.sdk.get(one).then((record) => record?.state), id)).toBe("unresolved");

  await press("Enter");
  await eventually(focused).toBe("reason");
  await page.keyboard.type("not in the ledger");
  await press("Tab", "Tab");
  expect(await focused()).toBe("Reissue");
  await press("Enter");
  await eventually(() => told(page)).toEqual([expect.stringMatching(/^pending brief order-1 0 attempts/)]);
  // Between the two writes there was nothing to stand in its place.
  expect(await focused()).toMatch(/^(pending brief order-1|open)/);
  const old = await page.evaluate((one) => inspected.sdk.get(one), id);
  expect(old?.resolution).toMatchObject({ how: "not-applied", reason: "not in the ledger" });
});

test("a decision is only made when it is confirmed, wants its reason, and says why it was refused", async () => {
  const page = await open();
  const id = await save(page, "order-1");
  await row(page, "order-1").getByRole("button").first().click();
  const dialog = page.getByRole("dialog");
  const discard = row(page, "order-1").getByRole("button", { name: "Discard" });
  await discard.click();
  await dialog.getByRole("button", { name: "Leave it" }).click();
  await discard.click();
  await dialog.getByRole("button", { name: "Discard" }).click();
  // Without a reason it stays open.
  expect(await dialog.isVisible()).toBe(true);
  expect(await page.evaluate((one) => inspected.sdk.get(one).then((record) => record?.state), id)).toBe("pending");

  // It goes on elsewhere while the question is asked.
  setting.site.intercept = () => true;
  await page.evaluate(
    () => void inspected.sdk.operation("transfer", { amount: 5, note: "" }, { intent: "order-1" }).send(),
  );
  await eventually(() => setting.site.arrivals.length).toBe(1);
  await dialog.getByRole("textbox").fill("a mistake");
  await dialog.getByRole("button", { name: "Discard" }).click();
  await eventually(() => row(page, "order-1").getByRole("alert").textContent()).toMatch(
    /under way|in flight|may still arrive/i,
  );
});

test("the focus stays where it is while operations come and go around it", async () => {
  const page = await open();
  await save(page, "order-1");
  await save(page, "order-2");
  await eventually(() => rows(page).count()).toBe(2);
  await row(page, "order-1").getByRole("button").first().focus();
  await save(page, "order-3");
  await eventually(() => rows(page).count()).toBe(3);
  const focused = () =>
    page.evaluate(() => (document.activeElement?.shadowRoot?.activeElement as HTMLElement)?.textContent);
  expect(await focused()).toContain("order-1");
  await page.evaluate(() => inspected.sdk.operation("transfer", { amount: 5, note: "" }, { intent: "order-1" }).send());
  await eventually(() => rows(page).count()).toBe(2);
  expect(await focused()).toMatch(/order-[23]/);
});

test("it shows nobody else's operations, and lets go of the Sdk when it is removed", async () => {
  const page = await open();
  await save(page, "order-1");
  await eventually(() => rows(page).count()).toBe(1);
  await page.evaluate(() => {
    localStorage.setItem("user", "bob");
    return inspected.sdk.list().next();
  });
  await save(page, "order-2");
  await eventually(() => told(page)).toEqual([expect.stringMatching(/order-2/)]);
  await page.evaluate(() => inspected.element.remove());
  await save(page, "order-3");
  expect(await page.evaluate(() => inspected.element.shadowRoot?.querySelectorAll("li").length)).toBe(0);
});

test.each(["light", "dark"] as const)(
  "axe finds nothing wrong with it in %s, unfolded and asking",
  async (colorScheme) => {
    const page = await open();
    await page.emulateMedia({ colorScheme });
    await makeDeadLetter(page, "order-1");
    await save(page, "order-2");
    await page.evaluate(() =>
      inspected.sdk.operation("transfer", { amount: 5, note: "" }, { intent: "order-3" }).send(),
    );
    await page.getByLabel("All").check();
    await eventually(() => rows(page).count()).toBe(3);
    await row(page, "order-1").getByRole("button").first().click();
    await row(page, "order-3").getByRole("button").first().click();
    await page.evaluate(axe);
    const violations = () =>
      page.evaluate(async () => {
        const { run } = (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe;
        const results = await run();
        return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      });
    expect(await violations()).toEqual([]);
    await mkdir(photographs, { recursive: true });
    await page.screenshot({ path: join(photographs, `${colorScheme}.png`), fullPage: true });
    await row(page, "order-1").getByRole("button", { name: "Reissue" }).click();
    expect(await violations()).toEqual([]);
    await page.screenshot({ path: join(photographs, `${colorScheme}-asking.png`) });
  },
);
