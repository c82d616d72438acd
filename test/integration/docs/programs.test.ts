import * as samekey from "samekey";
import * as profiles from "samekey/profiles";
import { memoryStore } from "samekey/stores/memory";
import { createMockServer } from "samekey/testing";
import { afterEach, expect, test } from "vitest";
import { programsOf, runSnippet } from "../../support/snippets.js";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

/** Runs the program of a page that has this in it, with nothing left on the disk, on a network of its own. */
async function run(page: string, part: string, fetch: typeof globalThis.fetch) {
  const found = programsOf(page).filter(([, code]) => code.includes(part));
  expect(found, `${page} has one program with ${part}`).toHaveLength(1);
  const store = memoryStore();
  const modules = {
    samekey: {
      ...samekey,
      createSdk: (options: samekey.SdkOptions) => samekey.createSdk({ ...options, store, fetch }),
      wrapFetch: ((of, options) => samekey.wrapFetch(of, { ...options, store })) as typeof samekey.wrapFetch,
    },
    "samekey/profiles": profiles,
  };
  return runSnippet(found[0]?.[1] ?? "", modules, { fetch, process: { env: { TOKEN: "t-1" } } });
}

test("the pages have no program that is not run here", () => {
  expect(programsOf("docs/fetch.md")).toHaveLength(2);
  expect(programsOf("docs/profiles.md")).toHaveLength(2);
});

test("the program of docs/index.md pays once", async () => {
  const server = createMockServer({ baseUrl: "https://api.example.com" });
  const { sdk } = (await run("docs/index.md", "createSdk", server.fetch)) as { sdk: samekey.Sdk };
  endings.push(() => sdk.close());
  expect(server.effects).toMatchObject([{ body: { order: 7, amount: 2500 } }]);
});

test("the wrapped fetch of docs/fetch.md records what `only` names, and lets the rest pass", async () => {
  const server = createMockServer({ baseUrl: "https://api.example.com" });
  server.on("POST", "/other", () => ({}), { keyed: false });
  const { payFetch } = (await run("docs/fetch.md", "payFetch", server.fetch)) as { payFetch: samekey.WrappedFetch };
  endings.push(() => payFetch.sdk.close());
  for (const path of ["/v1/charges", "/v1/refunds/7", "/other"]) {
    await payFetch(`https://api.example.com${path}`, { method: "POST", body: JSON.stringify({ amount: 1 }) });
  }
  const sent = server.requests.map(({ url, key, headers }) => [
    new URL(url).pathname,
    key !== undefined,
    headers.get("authorization"),
  ]);
  expect(sent).toEqual([
    ["/v1/charges", true, "Bearer t-1"],
    ["/v1/refunds/7", true, "Bearer t-1"],
    ["/other", false, null],
  ]);
});

test("the one for GraphQL records mutations only", async () => {
  const server = createMockServer({ baseUrl: "https://api.example.com" });
  const keys: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    keys.push(new Headers(init?.headers).get("idempotency-key"));
    return server.fetch(input, init);
  };
  server.on("POST", "/graphql", () => ({ data: {} }), { keyed: false });
  const { graphFetch } = (await run("docs/fetch.md", "graphFetch", fetch)) as { graphFetch: samekey.WrappedFetch };
  endings.push(() => graphFetch.sdk.close());
  for (const query of ["query { accounts { id } }", "mutation { pay { id } }"]) {
    await graphFetch("https://api.example.com/graphql", { method: "POST", body: JSON.stringify({ query }) });
  }
  expect(keys).toEqual([null, expect.any(String)]);
});

test("the sdk of docs/profiles.md speaks as Stripe documents it", async () => {
  const server = createMockServer({ baseUrl: "https://api.stripe.com" });
  const { sdk } = (await run("docs/profiles.md", "profile: stripe", server.fetch)) as { sdk: samekey.Sdk };
  endings.push(() => sdk.close());
  await sdk.operation("refund", { charge: "ch_1" } as never, {} as never).send();
  expect(server.requests[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
});

test("the profile of its own there reads the answers that it names", async () => {
  const { bank } = (await run("docs/profiles.md", "defineProfile", globalThis.fetch)) as { bank: samekey.Profile };
  const codes = ["still_working", "id_taken", "already_booked"];
  const server = createMockServer({ baseUrl: "https://bank.example.com" });
  const states = [];
  for (const error of codes) {
    server.reset();
    server.on("POST", "/payments", () => Response.json({ error }, { status: 409 }));
    const sdk = samekey.createSdk({
      name: "bank",
      owner: "single",
      baseUrl: server.baseUrl,
      profile: bank,
      retry: { attempts: 1 },
      store: memoryStore(),
      fetch: async (input, init) => {
        const answer = await server.fetch(input, { ...init, headers: { "idempotency-key": "k" } });
        return new Response(await answer.text(), {
          status: answer.status,
          headers: { "content-type": "application/json" },
        });
      },
      operations: { pay: samekey.post<{ amount: number }>("/payments") },
    });
    states.push((await sdk.operation("pay", { amount: 1 }).outcome()).state);
    await sdk.close();
  }
  expect(states).toEqual(["unresolved", "blocked", "succeeded"]);
});
