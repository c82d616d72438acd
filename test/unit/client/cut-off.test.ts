/** Answers that were cut off and look whole: nothing throws. */

import { post } from "samekey";
import { defineProfile } from "samekey/profiles";
import { createTestSdk, cut, lose, oversize, type Step, stall, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { isCutOff } from "../../../src/client/cut-off.js";
import { fate, type Receipt, type Transfer } from "./kit.js";

const json = { "content-type": "application/json" };
const unseen = cut.body({ unseen: true });
const operations = { transfer: post<Transfer, Receipt>("/transfers") };

function createApp(steps: readonly Step[], options: Parameters<typeof createTestSdk>[0] = {}) {
  const app = createTestSdk({ operations, ...options });
  app.server.on("POST", "/transfers", () => Response.json({ id: "tr_1" }, { status: 201 }));
  app.server.script(...steps);
  const operation = app.sdk.operation("transfer" as never, { amount: 1 } as never);
  return { app, send: (wait: "10m" | "1s" = "10m") => app.until(fate(operation.send({ wait }))) };
}

describe("a success", () => {
  test("is asked for once more, under the same key, and the replay brings what was missing", async () => {
    const { app, send } = createApp([unseen]);
    expect(await send()).toMatchObject({ data: { id: "tr_1" }, source: "replayed", attempts: 1 });
    expect(app.server.calls).toHaveLength(2);
    expect(new Set(app.server.calls.map(({ key, url }) => `${key} ${url}`)).size).toBe(1);
    expect(app.server.effects).toHaveLength(1);
  });

  test("asks for credentials before the second request too", async () => {
    let asked = 0;
    const { app, send } = createApp([unseen], { headers: () => ({ authorization: `Bearer ${++asked}` }) });
    await send();
    expect(app.server.calls.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer 1", "Bearer 2"]);
  });

  test.each<[string, Step]>([
    ["cut off again", unseen],
    ["lost", lose.response()],
    ["never there", lose.request()],
    ["cut off, and seen to be", cut.body()],
    ["without an end", stall()],
    ["too long", oversize(Infinity)],
    ["a refusal", status(404, { headers: json, body: '{"error":"gone"}' })],
    ["a refusal that is cut off", status(404, { headers: json, body: '{"error":' })],
    ["an outage", status(503)],
    ["a portal's page", status(201, { headers: { "content-type": "text/html" }, body: "<html>" })],
    ["a wish for credentials", status(401)],
  ])("stays one where the second answer is %s; nothing more is sent", async (_, second) => {
    const { app, send } = createApp([unseen, second]);
    expect(await send()).toMatchObject({ code: "unreadable", status: 201, data: expect.stringMatching(/^\{/) });
    expect((await app.store.page({}))[0]).toMatchObject({ state: "succeeded", attempts: 1 });
    await app.advance("1h");
    expect(app.server.calls).toHaveLength(2);
  });

  test("without any body is asked for once more; no body again is the answer", async () => {
    const { app, send } = createApp([status(201, { headers: json })]);
    expect(await send()).toMatchObject({ data: { id: "tr_1" } });
    const empty = createApp([status(201, { headers: json, times: 2 })]);
    expect(await empty.send()).toMatchObject({ status: 201, data: undefined });
    expect([app, empty.app].map(({ server }) => server.calls.length)).toEqual([2, 2]);
  });

  test.each([
    ["the API does not deduplicate", { profile: defineProfile({ name: "plain", dedupes: false }) }],
    ["no attempt is left", { retry: { attempts: 1 } }],
  ])("is not asked for again where %s", async (_, options) => {
    const { app, send } = createApp([unseen], options);
    expect(await send()).toMatchObject({ code: "unreadable" });
    expect(app.server.calls).toHaveLength(1);
  });

  test("the owner who signs out in between is not asked for: it stays what it is", async () => {
    const session: { owner: string | undefined } = { owner: "ann" };
    const { app, send } = createApp([unseen], {
      owner: () => session.owner,
      headers: () => ({}),
      log: () => {},
    });
    app.server.on("POST", "/transfers", () => {
      session.owner = "bob";
      return Response.json({ id: "tr_1" }, { status: 201 });
    });
    await send("1s");
    expect((await app.store.page({}))[0]).toMatchObject({ state: "succeeded", owner: "ann" });
    expect(app.server.calls).toHaveLength(1);
  });
});

test("a refusal that is cut off says nothing: it is tried again, and nobody is told that nothing was applied", async () => {
  const { app, send } = createApp([status(400, { headers: json, body: '{"error":"idempotency_key_in_us' })]);
  expect(await send()).toMatchObject({ data: { id: "tr_1" }, attempts: 2 });
  expect((await app.store.page({}))[0]?.uncertainSince).toBeDefined();
});

describe("what is taken for cut off", () => {
  const at = (body: string, headers: Record<string, string> = json, code = 201) =>
    isCutOff(new Response(null, { status: code, headers }), new TextEncoder().encode(body).buffer);

  test.each(['{"a":1', '{"a":{"b":1}', '["x', '"x', '{"a":"}', '{"a":"\\"}', "[[]", ""])("%s", (body) => {
    expect(at(body)).toBe(true);
    expect(at(body, { "content-type": "application/problem+json; charset=utf-8" })).toBe(true);
  });

  test.each(['{"a":"{["}', "[]", '"\\\\"', "12", "nonsense", '{"a":1}<br>', "}{", "NaN"])("%s is not", (body) => {
    expect(at(body)).toBe(false);
  });

  test("nor is what is as long as it was announced, what is no JSON, an empty refusal, and 204", () => {
    expect(at('{"a":', { ...json, "content-length": "5" })).toBe(false);
    expect(at('{"a":', { ...json, "content-length": "4" })).toBe(true);
    expect(at("", { ...json, "content-length": "0" })).toBe(false);
    expect(at('{"a":', { "content-type": "text/plain" })).toBe(false);
    expect(at('{"a":', {})).toBe(false);
    expect(at("", json, 404)).toBe(false);
    expect(at("", json, 204)).toBe(false);
  });
});
