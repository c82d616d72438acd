import { type ApiReader, post } from "samekey";
import { increase } from "samekey/profiles";
import { createTestSdk, lose } from "samekey/testing";
import { expect, test } from "vitest";
import { createBrowser, fate, type Transfer } from "./kit.js";

const place = "/account_transfers";

/** A bank whose list holds what was done under the key that it is asked for, as soon as `isUp`. */
function createBank({
  lists = true,
  isUp = (): boolean => true,
  down = (): Response => new Response("down", { status: 503 }),
} = {}) {
  const session: { owner: string | undefined } = { owner: "alice" };
  const told: string[] = [];
  const app = createTestSdk({
    owner: () => session.owner,
    headers: ({ owner, url }) => ({ authorization: `Bearer of-${owner}`, "x-for": new URL(url).search }),
    operations: {
      transfer: post<Transfer>(place, {
        profile: increase,
        retention: "24h",
        retry: { attempts: 1 },
        settled: ({ state }) => void told.push(state),
      }),
    },
  });
  app.server.on("GET", place, ({ url }) => {
    if (!isUp()) return down();
    const key = new URL(url).searchParams.get("idempotency_key");
    const done = lists && app.server.effects.some((effect) => effect.key === key);
    return Response.json({ data: done ? [{ id: "transfer_1", idempotency_key: key }] : [] });
  });
  const reads = () => app.server.requests.filter(({ method }) => method === "GET");
  const send = () => app.until(fate(app.sdk.operation("transfer", { amount: 1 }, { intent: "rent" }).send()));
  return { app, session, told, reads, send };
}

test("a profile looks an unknown outcome up by its key, as the owner and with fresh credentials", async () => {
  const { app, told, reads, send } = createBank();
  app.server.script(lose.response());
  const error = (await send()) as { id: string; key: string };
  await app.advance("1m");
  expect(await app.sdk.get(error.id)).toMatchObject({ state: "succeeded", resolution: { how: "applied" } });
  expect(told).toEqual(["succeeded"]);
  expect(reads()).toHaveLength(1);
  const [read] = reads();
  expect(read?.headers.get("authorization")).toBe("Bearer of-alice");
  expect(read?.headers.get("x-for")).toBe(`?idempotency_key=${error.key}`);
  expect(read?.headers.has("content-type")).toBe(false);
  expect(read?.headers.has("idempotency-key")).toBe(false);
});

test("I3 what is not listed may still be on its way: it stays unresolved, and holds its intent", async () => {
  const { app, told, reads, send } = createBank({ lists: false });
  app.server.script(lose.response());
  const { id } = (await send()) as { id: string };
  await app.advance("1m");
  expect(await app.sdk.get(id)).toMatchObject({ state: "unresolved", resolution: undefined });
  expect(told).toEqual(["unresolved"]);
  expect(reads()).toHaveLength(1);
  expect(await send()).toMatchObject({ id });
});

test("a look-up that gets no answer is made again", async () => {
  let isUp = false;
  const { app, told, reads, send } = createBank({ isUp: () => isUp });
  app.server.script(lose.response());
  await send();
  app.sdk.start();
  await app.advance("10s");
  expect(told).toEqual([]);
  isUp = true;
  await app.advance("1h");
  expect(told).toEqual(["succeeded"]);
  expect(reads().length).toBeGreaterThan(1);
});

test.each([
  ["408", () => Response.json({ data: [] }, { status: 408 })],
  ["425", () => Response.json({ data: [] }, { status: 425 })],
  ["302", () => Response.json({ data: [] }, { status: 302, headers: { location: "/login" } })],
  ["403", () => Response.json({ data: [] }, { status: 403 })],
  ["404", () => Response.json({ data: [] }, { status: 404 })],
  ["HTML in the place of a list", () => new Response("<p>Sign in", { headers: { "content-type": "text/html" } })],
  ["JSON that is no list", () => Response.json({ ok: true })],
])("a look-up that is answered with %s proves nothing: it is made again", async (_, answer) => {
  let isUp = false;
  const { app, told, send } = createBank({ isUp: () => isUp, down: answer });
  app.server.script(lose.response());
  await send();
  app.sdk.start();
  await app.advance("10s");
  expect(told).toEqual([]);
  isUp = true;
  await app.advance("1h");
  expect(told).toEqual(["succeeded"]);
});

test("I9 nothing is looked up for an owner who is gone", async () => {
  const { app, session, reads, send } = createBank({ isUp: () => false });
  app.server.script(lose.response());
  await send();
  const before = reads().length;
  session.owner = "bob";
  app.sdk.start();
  await app.advance("1h");
  expect(reads()).toHaveLength(before);
});

test("I9 nothing is looked up when the owner goes while credentials are fetched", async () => {
  let owner: string | undefined = "alice";
  const app = createTestSdk({
    owner: () => owner,
    headers: ({ url }) => {
      if (url.includes("?")) owner = "bob";
      return {};
    },
    operations: {
      transfer: post<Transfer>(place, { profile: increase, retention: "24h", retry: { attempts: 1 } }),
    },
  });
  app.server.script(lose.response());
  await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
  await app.advance("1m");
  expect(owner).toBe("bob");
  expect(app.server.calls.map(({ method }) => method)).toEqual(["POST"]);
});

test("I8 a look-up goes to the operation's own origin, and an operation's own `reconcile` goes first", async () => {
  const faults: unknown[] = [];
  const app = createTestSdk({
    headers: () => ({ authorization: "Bearer secret" }),
    operations: {
      transfer: post<Transfer>(place, {
        profile: increase,
        retry: { attempts: 1 },
        reconcile: async (_: unknown, api: ApiReader) => {
          for (const url of ["https://evil.example.com/list", "http://", "https://a:b@api.example.com/list"]) {
            faults.push(await api.get(url).catch((error: unknown) => error));
          }
          return (await api.get("/mine")).status === 204 ? "not-applied" : "unknown";
        },
      }),
    },
  });
  app.server.on("GET", "/mine", () => undefined);
  app.server.script(lose.request());
  const { id } = (await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()))) as { id: string };
  await app.advance("1m");
  expect(await app.sdk.get(id)).toMatchObject({ state: "rejected", resolution: { how: "not-applied" } });
  const refused = new Error("samekey: only https://api.example.com is read from, without user name or password");
  expect(faults).toEqual([refused, refused, refused]);
  expect(app.server.calls.filter(({ method }) => method === "GET").map(({ path }) => path)).toEqual(["/mine"]);
});

test("a look-up without an answer ends with the time of an attempt", async () => {
  const reasons: unknown[] = [];
  const app = createTestSdk({
    attemptTimeout: "5s",
    operations: {
      transfer: post<Transfer>(place, {
        retry: { attempts: 1 },
        reconcile: (_, api) =>
          api.get("/slow").then(
            () => "applied" as const,
            (reason) => {
              reasons.push(reason);
              return "unknown";
            },
          ),
      }),
    },
  });
  app.server.on("GET", "/slow", () => new Promise(() => {}));
  app.server.script(lose.request());
  await app.until(fate(app.sdk.operation("transfer", { amount: 1 }).send()));
  await app.advance("1m");
  expect(reasons).toMatchObject([{ name: "TimeoutError", message: "no whole answer within 5000 ms" }]);
});

test("a look-up whose answer breaks off in its body ends with the time of an attempt, too", async () => {
  const reasons: unknown[] = [];
  const browser = createBrowser();
  const sdk = browser.open({
    attemptTimeout: "5s",
    fetch: async (input, init) => {
      if (init?.method === "POST") return browser.server.fetch(input, init);
      const body = new ReadableStream({
        start: (stream) => {
          stream.enqueue(new TextEncoder().encode('{"data":['));
          init?.signal?.addEventListener("abort", () => stream.error(init.signal?.reason));
        },
      });
      return new Response(body);
    },
    operations: {
      transfer: post<Transfer>(place, {
        retry: { attempts: 1 },
        reconcile: async (_, api) => {
          await api.get("/list").catch((reason: unknown) => reasons.push(reason));
          return "unknown" as const;
        },
      }),
    },
  });
  browser.server.script(lose.request());
  await browser.clock.until(fate(sdk.operation("transfer", { amount: 1 }, {}).send()));
  await browser.clock.advance("1m");
  expect(reasons).toMatchObject([{ name: "TimeoutError", message: "no whole answer within 5000 ms" }]);
});
