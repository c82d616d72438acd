/** Calls of `fetch` that name neither a key nor an intent, made again by whoever got no answer. */

import { describe, expect, test } from "vitest";
import { createTestSdk, lose, status } from "../../../src/testing/index.js";
import { fate } from "./kit.js";

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
  ])("%s: another operation", async (_, init) => {
    const { app, send, giveUp } = open();
    await giveUp();
    await app.until(send(init));
    await app.advance("20s");
    expect(app.server.effects).toHaveLength(2);
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
