import { wrapFetch } from "samekey";
import { createMockServer, lose, status } from "samekey/testing";
import { expect, onTestFinished, test } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";
import { openSdk } from "./tools.js";

function form(): FormData {
  const made = new FormData();
  made.append("amount", "5");
  made.append("file", new File([new Uint8Array([0, 255, 45, 45, 13, 10])], 'r"ä".bin', { type: "application/x-a" }));
  return made;
}

function streamOf(...parts: string[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
}

async function* chunks(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield new TextEncoder().encode(part);
}

const bytesOf = async (body: BodyInit) => [...new Uint8Array(await new Response(body).arrayBuffer())];

test.each([
  ["a Blob", () => new Blob(["hi"], { type: "Image/PNG" }), "image/png", "hi"],
  ["a File", () => new File(["hi"], "a", { type: "text/csv" }), "text/csv", "hi"],
  ["a stream, which Chromium itself sends over HTTP/2 alone", () => streamOf("h", "i"), null, "hi"],
  ["an async iterable, which Chromium itself would make a name of", () => chunks("h", "i"), null, "hi"],
  ["a view", () => new DataView(new TextEncoder().encode("xhi").buffer, 1), null, "hi"],
])("F16 F17 %s is frozen once, to bytes and content type, over attempts and lives", async (_, body, type, text) => {
  const name = freshName();
  const { sdk, server } = openSdk({ name });
  server.script(status(503), lose.response(), status(503, { headers: { "retry-after": "1" } }));
  const sending = sdk.fetch("/transfers", { method: "POST", body: body() }).catch((error: unknown) => error);
  await expect.poll(() => server.calls.length).toBe(3);
  await sdk.close({ timeout: 0 });
  expect(await sending).toMatchObject({ code: "closed" });
  const next = openSdk({ name }, server).sdk;
  await next.resume({ wait: "20s" });
  expect(await next.counts()).toEqual({ succeeded: 1 });
  const seen = server.calls.map((call) => [call.text(), call.headers.get("content-type"), call.key]);
  expect(seen.length).toBe(4);
  expect(new Set(seen.map(String)).size).toBe(1);
  expect(seen[0]?.slice(0, 2)).toEqual([text, type]);
});

test("a form is what Chromium makes of it, but for one boundary, the same for the same form", async () => {
  const { sdk, server } = openSdk();
  server.script(status(503), lose.response());
  await sdk.fetch("/transfers", { method: "POST", body: form() });
  await sdk.fetch(new Request(`${server.baseUrl}/transfers`, { method: "POST", body: form() }));
  const calls = server.calls.map(({ headers, body }) => ({
    type: headers.get("content-type") ?? "",
    bytes: [...new Uint8Array(body)],
  }));
  expect(calls).toHaveLength(4);
  expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1);
  const [{ type, bytes } = { type: "", bytes: [] }] = calls;
  const boundary = /boundary=(----samekey[0-9a-f]+)$/.exec(type)?.[1] ?? "";
  const platform = new Response(form());
  const theirs = /boundary=(\S+)$/.exec(platform.headers.get("content-type") ?? "")?.[1] ?? "";
  const made = new TextDecoder("latin1").decode(await platform.arrayBuffer());
  expect(new TextDecoder("latin1").decode(new Uint8Array(bytes))).toBe(made.replaceAll(theirs, boundary));
  const parsed = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  expect(await bytesOf(parsed.get("file") as File)).toEqual([0, 255, 45, 45, 13, 10]);
});

test("wrapFetch keeps its records in IndexedDB, and its fetch is called as the platform wants", async () => {
  const server = createMockServer();
  const name = freshName();
  const wrapped = wrapFetch(
    function (this: unknown, input: RequestInfo | URL, init?: RequestInit) {
      if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
      return server.fetch(input as string, init);
    } as typeof fetch,
    { name, owner: "single", retention: "24h", only: `${server.baseUrl}/transfers` },
  );
  onTestFinished(() => wrapped.sdk.close({ timeout: 0 }));
  const response = await wrapped(`${server.baseUrl}/transfers`, { method: "POST", body: form(), intent: "a" });
  expect([response.status, response.url]).toEqual([201, `${server.baseUrl}/transfers`]);
  expect((await wrapped(`${server.baseUrl}/transfers`, { method: "POST", body: form(), intent: "a" })).status).toBe(
    201,
  );
  expect(server.calls).toHaveLength(1);
  expect((await indexedDB.databases()).map((database) => database.name)).toContain(`samekey:${name}`);
});

test("a relative URL is the page's, and passes through as it was", async () => {
  const wrapped = wrapFetch(globalThis.fetch, {
    name: freshName(),
    owner: "single",
    retention: "24h",
    only: "/never",
    baseUrl: location.origin,
  });
  expect((await wrapped("?x=1")).url).toBe(new URL("?x=1", location.href).href);
});
