import { createTestSdk, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { collect, fate } from "./kit.js";

/** Sends with these options, and answers with what each attempt called `fetch` with. */
async function attemptsWith(init: RequestInit & { body?: unknown }, request = false) {
  const calls: RequestInit[] = [];
  const app = createTestSdk({ credentials: "omit" });
  const { server } = app;
  const plain = server.fetch;
  server.script(status(503));
  Object.defineProperty(server, "fetch", {
    value: (url: string, given: RequestInit) => {
      calls.push(given);
      return plain(url, given);
    },
  });
  const sdk = app.crash();
  const all = { method: "POST", ...init } as RequestInit;
  const result = request ? sdk.fetch(new Request("https://api.example.com/t", all)) : sdk.fetch("/t", all);
  return { error: await app.until(fate(result)), calls, records: await collect(sdk.list()), app };
}

describe("options that a recorded write cannot have are refused by name", () => {
  test.each([
    ["F31 no-cors", { mode: "no-cors" }, "`mode: "],
    ["same-origin, to another origin", { mode: "same-origin" }, "`mode: "],
    ["navigate", { mode: "navigate" }, "`mode: "],
    ["integrity", { integrity: "sha256-AA" }, "`integrity`"],
    ["only-if-cached", { cache: "only-if-cached" }, "`cache: "],
    ["full duplex", { duplex: "full" }, "`duplex`"],
  ])("%s", async (_, init, told) => {
    const { error, calls, records } = await attemptsWith(init as RequestInit);
    expect(error).toMatchObject({ code: "bad_option", message: expect.stringContaining(told) });
    expect([calls, records]).toEqual([[], []]);
  });

  test("in a Request as well", async () => {
    for (const init of [{ mode: "no-cors" }, { integrity: "sha256-AA" }] as RequestInit[]) {
      expect((await attemptsWith(init, true)).error).toMatchObject({ code: "bad_option" });
    }
  });
});

describe("the others have their meaning", () => {
  test.each([false, true])("hints go with every attempt of this process (in a Request: %s)", async (request) => {
    const init = { keepalive: true, cache: "no-store", referrerPolicy: "no-referrer", body: "a" } as const;
    const { calls } = await attemptsWith(init, request);
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      expect(call).toMatchObject({ keepalive: true, cache: "no-store", referrerPolicy: "no-referrer" });
      expect(call).toMatchObject({ redirect: "manual", method: "POST" });
    }
  });

  test("a dispatcher, which libraries bring for their time-outs, goes with every attempt of this process", async () => {
    const dispatcher = {};
    const { calls } = await attemptsWith({ body: "a", dispatcher } as object);
    expect(calls.map((call) => (call as { dispatcher?: unknown }).dispatcher)).toEqual([dispatcher, dispatcher]);
  });

  test("what says nothing adds nothing", async () => {
    const { calls } = await attemptsWith({ body: "a" }, true);
    expect(Object.keys(calls[0] ?? {}).sort()).toEqual(
      ["body", "credentials", "headers", "method", "redirect", "signal"].sort(),
    );
  });

  test("keepalive is left out where the platform would refuse the body for it", async () => {
    const { calls } = await attemptsWith({ keepalive: true, body: "a".repeat(65_537) });
    expect(calls.map(({ keepalive }) => keepalive)).toEqual([false, false]);
  });

  test("credentials are recorded; a Request's default is no wish", async () => {
    expect((await attemptsWith({})).records[0]?.request.credentials).toBe("omit");
    expect((await attemptsWith({}, true)).records[0]?.request.credentials).toBe("omit");
    expect((await attemptsWith({ credentials: "include" })).records[0]?.request.credentials).toBe("include");
    expect((await attemptsWith({ credentials: "include" }, true)).calls[0]?.credentials).toBe("include");
  });

  test.each(["manual", "error"] as const)(
    "F27 redirect: %s is recorded: not even the same origin is followed",
    async (redirect) => {
      expect((await attemptsWith({ redirect })).records[0]?.wire.redirect).toBe("manual");
      expect((await attemptsWith({ redirect: "follow" })).records[0]?.wire.redirect).toBe("same-origin");
    },
  );

  test("half duplex, a null signal and unknown options are what they are to fetch", async () => {
    const aborted = new Request("https://api.example.com/t", { method: "POST", signal: AbortSignal.abort() });
    const app = createTestSdk();
    const init = { duplex: "half", signal: null, next: { tags: ["a"] }, agent: {} } as RequestInit;
    expect(await app.until(app.sdk.fetch(aborted, init))).toMatchObject({ status: 201 });
  });
});

describe("answers", () => {
  test("carry the request's URL, and come from the store with status, headers and body too", async () => {
    const app = createTestSdk();
    app.server.script(
      status(201, {
        body: '{"id":"7"}',
        headers: { "content-type": "application/json", "request-id": "r-1", "content-range": "0-0/9" },
      }),
    );
    const send = () =>
      app.until(app.sdk.fetch("/t?x=1", { method: "POST", body: "a", headers: { "idempotency-key": "k" } }));
    const first = await send();
    app.crash();
    for (const answer of [first, await send()]) {
      expect([answer.status, answer.ok, answer.url]).toEqual([201, true, "https://api.example.com/t?x=1"]);
      expect([answer.headers.get("request-id"), await answer.json()]).toEqual(["r-1", { id: "7" }]);
      expect(answer.headers.get("content-range")).toBe("0-0/9");
    }
    expect(app.server.calls).toHaveLength(1);
  });

  test("a body that the server left out is not made up", async () => {
    const app = createTestSdk();
    app.server.script(
      status(201, { body: '{"note":1}', headers: { "idempotency-status": "replayed", "idempotency-body": "omitted" } }),
    );
    expect(await app.until(fate(app.sdk.fetch("/t", { method: "POST", body: "a" })))).toMatchObject({
      code: "unreadable",
      record: { state: "succeeded" },
    });
  });
});
