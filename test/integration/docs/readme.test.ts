import * as samekey from "samekey";
import { memoryStore } from "samekey/stores/memory";
import * as testing from "samekey/testing";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { runSnippet, snippetsOf } from "../../support/snippets.js";

const snippets = snippetsOf("README.md");
const untested = new Set(snippets.keys());

const server = testing.createMockServer({ baseUrl: "https://api.example.com" });
const store = memoryStore();
const modules = {
  samekey: {
    ...samekey,
    // The same program with a store and a network for one test.
    createSdk: (options: samekey.SdkOptions) => samekey.createSdk({ ...options, store, fetch: server.fetch }),
  },
  "samekey/testing": testing,
};
const assert = vi.spyOn(console, "assert");
const log = vi.spyOn(console, "log").mockImplementation(() => {});
const markPaid = vi.fn();
const surroundings = {
  session: { userId: "alice" },
  tokenOf: async () => "secret",
  order: { id: "order-1" },
  markPaid,
};

let sdk: samekey.Sdk;

function run(name: string): Promise<Record<string, unknown>> {
  untested.delete(name);
  return runSnippet(
    snippets.get(name) ?? "",
    modules,
    name === "quick-start" ? surroundings : { ...surroundings, sdk },
  );
}

beforeAll(async () => {
  const declared = await run("quick-start");
  sdk = declared["sdk"] as samekey.Sdk;
  expect(declared).toMatchObject({ source: "executed", data: { id: expect.any(String) } });
});

afterEach(() => {
  for (const [condition] of assert.mock.calls) expect(condition).toBe(true);
  assert.mockClear();
});

test("quick start: one effect, credentials from headers(), the hook is called", async () => {
  expect(server.effects).toHaveLength(1);
  expect(server.requests[0]?.headers.get("authorization")).toBe("Bearer secret");
  await vi.waitFor(() => expect(markPaid).toHaveBeenCalledOnce());
});

test("intents: five clicks are one request, and the store answers the second time", async () => {
  const before = server.effects.length;
  await run("intents");
  expect(assert).toHaveBeenCalledTimes(2);
  expect(server.effects).toHaveLength(before + 1);
});

test("outcomes are values too", async () => {
  await run("outcomes");
  expect(log).toHaveBeenLastCalledWith(expect.any(String));
});

test("resume reports", async () => {
  const { report } = await run("resume");
  expect(report).toMatchObject({ unresolved: 0, remaining: 0 });
});

test("an app is tested in virtual time", async () => {
  await run("testing");
  expect(assert).toHaveBeenCalledTimes(2);
});

test("every snippet was run", () => {
  expect([...untested]).toEqual([]);
});
