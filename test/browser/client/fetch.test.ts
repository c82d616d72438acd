import { cut, lose, status } from "samekey/testing";
import { expect, test } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";
import { dump, openSdk } from "./tools.js";

const json = { "content-type": "application/json" };

test("a Request is read once, and every attempt sends the same bytes (F16)", async () => {
  const { sdk, server } = openSdk();
  server.script(status(503), lose.response(), cut.body());
  const request = new Request(`${server.baseUrl}/transfers`, {
    method: "POST",
    body: '{ "amount": 5 }',
    headers: json,
  });
  const response = await sdk.fetch(request);
  expect(response.status).toBe(201);
  expect(await response.json()).toEqual({ id: "1" });
  expect(server.calls.map((call) => call.text())).toEqual(Array.from({ length: 4 }, () => '{ "amount": 5 }'));
  expect(new Set(server.calls.map(({ headers }) => headers.get("content-type")))).toEqual(
    new Set([json["content-type"]]),
  );
  expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
  expect(server.effects).toHaveLength(1);
  await expect(sdk.fetch(request), "a used one").rejects.toMatchObject({ code: "body_not_replayable" });
  expect(server.calls).toHaveLength(4);
});

test("an element, which cannot be sent, is refused at the call", async () => {
  const { sdk, server } = openSdk();
  const sending = sdk.fetch("/transfers", { method: "POST", body: document.body });
  await expect(sending).rejects.toMatchObject({ name: "MisuseError", code: "body_not_replayable" });
  expect(await sdk.counts()).toEqual({});
  expect(server.calls).toEqual([]);
});

test("bodies are at rest as ArrayBuffers, never as Blobs (F53)", async () => {
  const name = freshName();
  const { sdk, server } = openSdk({ name });
  server.on("POST", "/transfers", () => ({ id: "1" }));
  await sdk.fetch("/transfers", { method: "POST", body: new Uint8Array([1, 2, 3]) });
  await sdk.operation("transfer", { amount: 5 }).send();
  const rows = (await dump(name)) as { record?: { request: { body: unknown }; response: { body: unknown } } }[];
  const records = rows.flatMap(({ record }) => record ?? []);
  expect(records).toHaveLength(2);
  for (const { request, response } of records) {
    expect(request.body).toBeInstanceOf(ArrayBuffer);
    expect(response.body).toBeInstanceOf(ArrayBuffer);
  }
});
