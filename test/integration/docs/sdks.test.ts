import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as anthropic from "@anthropic-ai/sdk";
import * as supabase from "@supabase/supabase-js";
import * as trpc from "@trpc/client";
import * as axios from "axios";
import * as graphqlRequest from "graphql-request";
import * as ky from "ky";
import * as ofetch from "ofetch";
import * as openai from "openai";
import * as openapiFetch from "openapi-fetch";
import * as samekey from "samekey";
import * as profiles from "samekey/profiles";
import { memoryStore } from "samekey/stores/memory";
import * as stripe from "stripe";
import { afterEach, expect, test, vi } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { runSnippet, snippetsOf } from "../../support/snippets.js";

const page = readFileSync(join(root, "docs/sdks.md"), "utf8");
const snippets = snippetsOf("docs/sdks.md");
const open: samekey.WrappedFetch[] = [];

/** As its reader has it, but with nothing left on the disk. */
const wrapFetch: typeof samekey.wrapFetch = (fetch, options) => {
  const wrapped = samekey.wrapFetch(fetch, { ...options, store: memoryStore(), retry: { base: 1, cap: 1 } });
  open.push(wrapped);
  return wrapped;
};

const modules = {
  "@anthropic-ai/sdk": anthropic,
  "@supabase/supabase-js": supabase,
  "@trpc/client": trpc,
  axios,
  "graphql-request": graphqlRequest,
  ky,
  ofetch,
  openai,
  "openapi-fetch": openapiFetch,
  samekey: { ...samekey, wrapFetch },
  "samekey/profiles": profiles,
  stripe,
};

// Node 20 has none, and Supabase's client refuses to be made without.
vi.stubGlobal("WebSocket", class {});

afterEach(async () => {
  for (const { sdk } of open.splice(0)) await sdk.close();
});

test.each([...snippets.keys()])("the snippet for %s makes one call, once, under its name", async (name) => {
  const sent: string[] = [];
  const api = vi.fn(async (url: string, init: RequestInit) => {
    sent.push(`${init.method} ${url} ${new Headers(init.headers).get("idempotency-key")} ${init.body?.toString()}`);
    const payment = { id: "1" };
    return Response.json({ ...payment, data: { pay: payment }, result: { data: payment } });
  });
  const globals = Object.create(globalThis, { fetch: { value: api } });
  await runSnippet(snippets.get(name) ?? "", modules, { secret: "s", globalThis: globals });
  expect(sent).toHaveLength(1);
  const [wrapped] = open;
  const records: unknown[] = [];
  for await (const record of wrapped?.sdk.list() ?? []) records.push(record);
  const [record] = records as samekey.OperationRecord[];
  expect(records).toMatchObject([{ state: "succeeded" }]);
  expect([record?.key, record?.intent]).toContainEqual(expect.stringMatching(/^(order|report|payment)-7$/));
});

test("every library of the table has a snippet that is run", () => {
  const named = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, library = ""]) => library);
  const used = [...snippets.values()].map((code) => /^import .* from "([^"]+)";$/m.exec(code)?.[1]);
  expect(named.length).toBeGreaterThanOrEqual(10);
  expect([...used].sort()).toEqual([...named].sort());
});
