import { type WrapFetchOptions, wrapFetch } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { createTestSdk, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { fate } from "./kit.js";

const API = "https://api.example.com";
const isMutation: WrapFetchOptions["only"] = async ({ text }) => /mutation/.test(await text());

function open(options: Partial<WrapFetchOptions> = {}) {
  const { clock, server } = createTestSdk();
  const passed: unknown[][] = [];
  const plain = (async (input: never, init: never) => {
    passed.push([input, init]);
    return server.fetch(input, init);
  }) as typeof fetch;
  const wrapped = wrapFetch(plain, {
    name: "w",
    owner: "single",
    retention: "24h",
    only: isMutation,
    store: memoryStore(),
    clock,
    ...options,
  });
  return { wrapped, passed, server, clock };
}

const form = (value: string): FormData => {
  const made = new FormData();
  made.append("q", value);
  return made;
};
const bodies = (value: string): [string, () => { body: unknown } | Request][] => [
  ["text", () => ({ body: value })],
  ["parameters", () => ({ body: new URLSearchParams({ q: value }) })],
  ["bytes", () => ({ body: new TextEncoder().encode(value) })],
  ["a Blob", () => ({ body: new Blob([value], { type: "text/x" }) })],
  ["a form", () => ({ body: form(value) })],
  ["a value", () => ({ body: { query: value } })],
  ["a Request", () => new Request(API, { method: "POST", body: value })],
  ["a Request with a form", () => new Request(API, { method: "POST", body: form(value) })],
];

describe("`only` and `intent` may read the body, wherever it is", () => {
  test.each(bodies("mutation"))("%s that is covered is sent as it was", async (_, make) => {
    const sent = async (only: WrapFetchOptions["only"]) => {
      const { wrapped, server, clock } = open({ only });
      server.script(status(503));
      const given = make();
      await clock.until(given instanceof Request ? wrapped(given) : wrapped(API, { method: "POST", ...given }));
      expect(server.calls.map(({ key }) => key !== undefined)).toEqual([true, true]);
      return server.calls.map((seen) => [seen.text(), seen.headers.get("content-type")]);
    };
    expect(await sent(isMutation)).toEqual(await sent(API));
  });

  test.each(bodies("query").filter(([kind]) => kind !== "a value"))(
    "%s that is not is passed on unread",
    async (_, make) => {
      const { wrapped, passed, server } = open();
      const given = make();
      const response = given instanceof Request ? wrapped(given) : wrapped(API, { method: "POST", ...given });
      expect(await fate(response)).not.toBeInstanceOf(Error);
      expect(passed).toHaveLength(1);
      if (given instanceof Request) expect(passed[0]).toEqual([given, {}]);
      expect(server.calls[0]?.key).toBeUndefined();
      expect(server.calls[0]?.text()).toContain("query");
      expect(await wrapped.sdk.counts()).toEqual({});
    },
  );

  test.each([
    ["a value", () => ({ a: "1" }), (body: { a: string }) => Object.assign(body, { a: "2" }), '{"a":"1"}'],
    ["bytes", () => new TextEncoder().encode("1"), (body: Uint8Array) => body.fill(0), "1"],
    ["parameters", () => new URLSearchParams("a=1"), (body: URLSearchParams) => body.set("a", "2"), "a=1"],
    ["a form", () => form("1"), (body: FormData) => body.set("q", "2"), expect.stringContaining("\r\n1\r\n")],
  ] as [string, () => unknown, (body: never) => unknown, string][])(
    "what the caller does to %s while they think changes nothing",
    async (_, make, change, text) => {
      for (const covered of [true, false]) {
        if (!covered && typeof text === "string" && text.startsWith("{")) continue;
        const { wrapped, server, clock } = open({ only: async () => covered, intent: async () => "i" });
        const body = make();
        const sending = fate(wrapped(API, { method: "POST", body }));
        change(body as never);
        await clock.until(sending);
        expect(server.calls.map((call) => call.text())).toEqual([text]);
      }
    },
  );

  test("an intent that stands in the body of a Request joins", async () => {
    const { wrapped, server, clock } = open({
      only: API,
      intent: async ({ text }) => JSON.parse(await text()).order,
    });
    const pay = () => wrapped(new Request(API, { method: "POST", body: '{"order":"o-1"}' }));
    const answers = await clock.until(Promise.all([pay(), pay()]));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(server.calls).toHaveLength(1);
  });

  test("a stream cannot be looked at, and the error says why", async () => {
    const { wrapped, passed } = open();
    const sending = fate(wrapped(API, { method: "POST", body: new ReadableStream() }));
    expect(await sending).toMatchObject({
      code: "body_not_replayable",
      message: expect.stringContaining("read only once"),
    });
    expect(passed).toEqual([]);
  });

  test("the signal ends the reading of what does not come", async () => {
    const { wrapped, passed } = open();
    const controller = new AbortController();
    const init = { method: "POST", body: new ReadableStream(), duplex: "half", signal: controller.signal };
    const sending = fate(wrapped(new Request(API, init as RequestInit)));
    controller.abort("gone");
    expect(await sending).toBe("gone");
    expect(passed).toEqual([]);
  });
});
