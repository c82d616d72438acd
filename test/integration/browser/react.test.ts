import type { ServerResponse } from "node:http";
import type { Page } from "playwright";
import { expect, test } from "vitest";
import { eventually, keysOf, setUp } from "./tools.js";

const setting = setUp();

const shows = (page: Page, id: string) => eventually(() => page.textContent(`#${id}`));

test.each([
  ["hook", "pay", "payment", 'pending {"amount":5} undefined', 'succeeded {"amount":5} 1', "transfer"],
  ["mutation", "refund", "refunds", 'pending{"amount":3}', 'success{"amount":3}', "refund"],
])("a page reloaded while its %s sends shows it again, and its outcome: one key, one effect", async (...row) => {
  const [, button, shown, underWay, done, name] = row;
  const { site, tab } = setting;
  const held: ServerResponse[] = [];
  const page = await tab(`${site.url}/react`);
  site.intercept = (_, response) => {
    held.push(response);
    return true;
  };
  await page.click(`#${button}`);
  await shows(page, shown).toBe(underWay);
  await eventually(() => held.length).toBe(1);
  await page.reload();
  await shows(page, shown).toBe(underWay);
  await shows(page, "pending").toBe(name);
  await eventually(() => held.length).toBe(2);
  site.intercept = () => undefined;
  for (const response of held) response.destroy();
  await shows(page, shown).toBe(done);
  await shows(page, "pending").toBe("");
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});
