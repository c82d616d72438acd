import { expect, test } from "vitest";
import { createSdk, post } from "../../../src/index.browser.js";

test("where a page is rendered on a server, the browser's entry loads, makes an Sdk and shows it idle", () => {
  expect(typeof document).toBe("undefined");
  const sdk = createSdk({
    name: "rendered",
    owner: "single",
    retention: "24h",
    baseUrl: "https://api.example.com",
    operations: { transfer: post<{ amount: number }>("/transfers") },
  });
  const handle = sdk.operation("transfer", { amount: 1 }, { intent: "order-1" });
  expect(handle.getSnapshot()).toMatchObject({ state: "idle", attempts: 0, outcome: undefined });
  expect(handle.getSnapshot()).toBe(handle.getSnapshot());
  expect(sdk.pending.getSnapshot()).toEqual([]);
});

test("where there is no IndexedDB, saving says so and nothing is sent", async () => {
  const sent: unknown[] = [];
  const sdk = createSdk({
    name: "rendered",
    owner: "single",
    retention: "24h",
    baseUrl: "https://api.example.com",
    fetch: async (url) => {
      sent.push(url);
      return new Response();
    },
    operations: { transfer: post<{ amount: number }>("/transfers") },
  });
  const outcome = await sdk.operation("transfer", { amount: 1 }).outcome();
  expect(outcome).toMatchObject({ state: "unsaved", error: { name: "StoreError", code: "unavailable" } });
  expect(sent).toEqual([]);
});
