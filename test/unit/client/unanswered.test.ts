/** Calls of `fetch` that name neither a key nor an intent, made again by whoever got no answer. */

import { describe, expect, test } from "vitest";
import { createTestSdk, lose, status } from "../../../src/testing/index.js";
import { createBrowser, createWatchedStore, fate } from "./kit.js";

function open() {
  const app = createTestSdk();
  const send = (init: RequestInit = {}) => app.sdk.fetch("/t", { method: "POST", body: "x", ...init });
  /** A call that its caller gives up while the answer is still to come. */
  const giveUp = async (): Promise<void> => {
    app.server.script(status(503, { headers: { "retry-after": "5" } }));
    const controller = new AbortController();
    const sending = fate(send({ signal: controller.signal }));
    await app.advance(0);
    controller.abort();
    await app.until(sending);
  };
  return { app, send, giveUp };
}

describe("the same call again, after one that got no answer", () => {
  test("is its retry: one key, one effect, and the answer", async () => {
    const { app, send, giveUp } = open();
    await giveUp();
    expect(((await app.until(send())) as Response).status).toBe(201);
    expect(app.server.effects).toHaveLength(1);
    expect(new Set(app.server.calls.map(({ key }) => key)).size).toBe(1);
  });

  test("finds an answer that came meanwhile", async () => {
    const { app, send, giveUp } = open();
    await giveUp();
    await app.advance("20s");
    expect(app.server.effects).toHaveLength(1);
    expect(((await app.until(send())) as Response).status).toBe(201);
    expect(app.server.calls).toHaveLength(2);
  });

  test("each of several alike has its own", async () => {
    const { app, send } = open();
    app.server.script(status(503, { times: 2, headers: { "retry-after": "5" } }));
    const controller = new AbortController();
    const both = [send, send].map((one) => fate(one({ signal: controller.signal })));
    await app.advance(0);
    controller.abort();
    await app.until(Promise.all(both));
    await app.until(Promise.all([send(), send()]));
    expect(app.server.effects).toHaveLength(2);
    await app.until(send());
    expect(app.server.effects, "and one more is one more").toHaveLength(3);
  });

  test.each([
    ["another body", { body: "y" }],
    ["another method", { method: "PUT" }],
    ["a caller who counts his tries, and makes the first one", { headers: { "x-stainless-retry-count": "0" } }],
    ["a key of its own", { headers: { "idempotency-key": "mine" } }],
    ["an intent", { intent: "mine" } as RequestInit],
    ["a header that is kept, as it says what is asked for", { headers: { prefer: "handling=strict" } }],
    ["another content type", { headers: { "content-type": "application/xml" } }],
    ["a header that may say for whom", { headers: { "x-tenant": "b" } }],
  ])("%s: another operation", async (_, init) => {
    const { app, send, giveUp } = open();
    await giveUp();
    await app.until(send(init));
    await app.advance("20s");
    expect(app.server.effects).toHaveLength(2);
  });

  test.each([
    ["credentials that were renewed", { headers: { authorization: "Bearer new", "x-csrf-token": "new" } }],
    [
      "what tells one try from another",
      { headers: { "x-request-id": "2", "x-retry-attempt": "1", "user-agent": "n" } },
    ],
  ])("%s: its retry", async (_, init) => {
    const { app, send, giveUp } = open();
    await giveUp();
    await app.until(send(init));
    await app.advance("20s");
    expect(app.server.effects).toHaveLength(1);
  });

  test("no retry is taken for another operation because many calls got no answer", async () => {
    const { app } = open();
    const many = Array.from({ length: 150 }, (_, at) => `${at}`);
    const sendAll = (signal?: AbortSignal) =>
      Promise.all(many.map((body) => fate(app.sdk.fetch("/t", { method: "POST", body, signal }))));
    app.server.script(status(503, { times: 150, headers: { "retry-after": "5" } }));
    const controller = new AbortController();
    const sending = sendAll(controller.signal);
    await app.advance(0);
    controller.abort();
    await app.until(sending);
    await app.until(sendAll());
    await app.advance("1m");
    expect(app.server.effects).toHaveLength(150);
  });

  test("given up while it was still being recorded, it is the retry of that one", async () => {
    const { store, break: hold, mend } = createWatchedStore();
    const { server, clock, open: openSdk } = createBrowser();
    const sdk = openSdk({ store });
    const send = (init?: RequestInit) => fate(sdk.fetch("/t", { method: "POST", body: "x", ...init }));
    let record = (): void => {};
    hold("insert", async (run) => {
      await new Promise<void>((resolve) => {
        record = resolve;
      });
      return run();
    });
    const controller = new AbortController();
    const first = send({ signal: controller.signal });
    await clock.advance(0);
    controller.abort();
    expect(await first).toMatchObject({ name: "AbortError" });
    mend("insert");
    const second = send();
    await clock.advance(0);
    record();
    await clock.advance("1m");
    expect(await second).toMatchObject({ status: 201 });
    expect(server.effects).toHaveLength(1);
  });

  test("a minute later it is another operation", async () => {
    const { app, send, giveUp } = open();
    await giveUp();
    await app.advance("61s");
    await app.until(send());
    expect(app.server.effects).toHaveLength(2);
  });

  test("what nobody knows the outcome of stays so until someone says what it was", async () => {
    const app = createTestSdk({ profile: { name: "p", dedupes: false } });
    const send = () => app.until(fate(app.sdk.fetch("/t", { method: "POST", body: "x" })));
    app.server.script(lose.response());
    const first = await send();
    expect(first).toMatchObject({ name: "UnknownOutcomeError" });
    expect(await send()).toMatchObject({ name: "UnknownOutcomeError", id: (first as { id: string }).id });
    expect(app.server.calls).toHaveLength(1);
    await app.sdk.reconcile((first as { id: string }).id, "not-applied");
    expect(await send()).toMatchObject({ status: 201 });
    expect(app.server.calls).toHaveLength(2);
  });
});
