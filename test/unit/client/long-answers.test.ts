/** Answers that are longer than `maxResponse`. */

import { defineProfile } from "samekey/profiles";
import { createTestSdk, oversize, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { post } from "../../../src/client/define.js";
import { fate, type Receipt, type Transfer } from "./kit.js";

const LIMIT = 65_536;
const json = { "content-type": "application/json" };
const html = { "content-type": "text/html" };
const maxResponse = LIMIT;
const operations = { transfer: post<Transfer, Receipt>("/transfers", { maxResponse }) };

/** An app whose first answer is endless. */
function createApp(...answer: Parameters<typeof status> | []) {
  const app = createTestSdk({ operations, maxResponse });
  const [code, options] = answer;
  app.server.script(code === undefined ? oversize(Infinity) : [oversize(Infinity), status(code, options)]);
  const operation = app.sdk.operation("transfer", { amount: 1 }, { intent: "order-1" });
  const send = () => app.until(fate(operation.send({ wait: "10m" })));
  const stored = async () => app.sdk.get((await app.store.page({}))[0]?.id ?? "");
  return { app, operation, send, stored };
}

describe("a success that never ends", () => {
  test("is one: it is sent once, and told as unreadable, with the limit and the option that sets it", async () => {
    const { app, send, stored } = createApp();
    const error = (await send()) as Error;
    expect(error).toMatchObject({ code: "unreadable", status: 201, data: undefined });
    expect(error.message).toContain("more bytes than `maxResponse` allowed (65536)");
    expect(error.message).toContain("It was applied.");
    expect(app.server.calls).toHaveLength(1);
    expect(await stored()).toMatchObject({ state: "succeeded", response: { exceeded: LIMIT } });
    expect((await stored())?.response?.body).toBeUndefined();
  });

  test("is told the same way from the store, and after its keep time", async () => {
    const { app, send, operation } = createApp();
    await send();
    expect(await app.until(fate(operation.send()))).toMatchObject({ code: "unreadable" });
    expect(await app.until(operation.outcome())).toMatchObject({ state: "unreadable" });
    await app.advance("31d");
    await app.until(app.sdk.prune());
    expect(await app.until(fate(operation.send()))).toMatchObject({ code: "unreadable" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("through `fetch` it rejects: no empty 201 is passed off as the answer", async () => {
    const { app } = createApp();
    const call = () => app.sdk.fetch("/transfers", { method: "POST", body: "{}", intent: "order-2" });
    expect(await app.until(fate(call()))).toMatchObject({ code: "unreadable", status: 201 });
    expect(await app.until(fate(call()))).toMatchObject({ code: "unreadable", status: 201 });
    expect(app.server.calls).toHaveLength(1);
  });
});

test.each([
  [LIMIT, "succeeded"],
  [LIMIT + 1, "unreadable"],
])("%i bytes: %s", async (bytes, state) => {
  const app = createTestSdk({ operations });
  app.server.script(oversize(bytes));
  const operation = app.sdk.operation("transfer", { amount: 1 });
  await app.until(fate(operation.send()));
  expect((await app.until(operation.outcome())).state).toBe(state);
});

describe("other answers that never end stay what they are", () => {
  test.each([400, 403, 404, 501])("a refusal, %i", async (code) => {
    const { app, send } = createApp(code, { headers: json });
    const error = (await send()) as Error;
    expect(error).toMatchObject({ code: "rejected", status: code, data: undefined });
    expect(error.message).toContain("`maxResponse`");
    expect(app.server.calls).toHaveLength(1);
  });

  test("a refusal through `fetch` rejects: its body cannot be had", async () => {
    const { app } = createApp(400, { headers: json });
    const call = app.sdk.fetch("/transfers", { method: "POST", body: "{}", intent: "order-2" });
    expect(await app.until(fate(call))).toMatchObject({ code: "rejected", status: 400 });
  });

  test.each([500, 503, 408, 409])("%i is tried again under the same key", async (code) => {
    const { app, send } = createApp(code, { headers: json });
    expect(await send()).toMatchObject({ source: "executed", attempts: 2 });
    expect(new Set(app.server.calls.map(({ key }) => key)).size).toBe(1);
  });

  test("a portal's page is no success", async () => {
    const { send, stored } = createApp(200, { headers: html, body: "<!doctype html>" });
    expect(await send()).toMatchObject({ code: "blocked" });
    expect(await stored()).toMatchObject({ blockedBy: "refused", uncertainSince: expect.any(Number) });
  });

  test("a sign-in that is wanted", async () => {
    const { send, stored } = createApp(401);
    expect(await send()).toMatchObject({ code: "blocked" });
    expect(await stored()).toMatchObject({ blockedBy: "credentials" });
  });
});

test("a profile is told that there is no body to read", async () => {
  const seen: unknown[] = [];
  const profile = defineProfile({
    name: "verbose",
    retention: "24h",
    read: ({ body, exceeded }) => void seen.push([body.byteLength, exceeded]),
  });
  const app = createTestSdk({ operations: { pay: post<Transfer>("/pay", { profile, maxResponse }) } });
  app.server.script(oversize(LIMIT + 1));
  await app.until(fate(app.sdk.operation("pay", { amount: 1 }).send()));
  await app.until(app.sdk.operation("pay", { amount: 1 }).send());
  expect(seen).toEqual([
    [0, true],
    [10, false],
  ]);
});

test("what `reconcile` reads is bounded too, and asked again later", async () => {
  const told: string[] = [];
  const app = createTestSdk({
    log: ({ cause }) => void (cause && told.push(String(cause))),
    operations: {
      transfer: post<Transfer>("/transfers", {
        maxResponse,
        retry: { attempts: 1 },
        reconcile: async (_, api) => {
          const { ok } = await api.get("/transfers/1");
          return ok ? "applied" : "unknown";
        },
      }),
    },
  });
  let length = LIMIT + 1;
  app.server.on("GET", "/transfers/:id", () => new Response(" ".repeat(length--)));
  app.server.script(status(504));
  await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
  app.sdk.start();
  await app.advance("1h");
  expect((await app.store.page({}))[0]).toMatchObject({ state: "succeeded", resolution: { how: "applied" } });
  expect(told.filter((line) => line.includes("`maxResponse` allows (65536)"))).toHaveLength(1);
});
