import * as anthropic from "@anthropic-ai/sdk";
import * as supabase from "@supabase/supabase-js";
import * as axios from "axios";
import * as openai from "openai";
import * as samekey from "samekey";
import * as profiles from "samekey/profiles";
import { memoryStore } from "samekey/stores/memory";
import * as stripe from "stripe";
import { afterEach, expect, test, vi } from "vitest";
import { runSnippet, snippetsOf } from "../../support/snippets.js";

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
  axios,
  openai,
  samekey: { ...samekey, wrapFetch },
  "samekey/profiles": profiles,
  stripe,
};

// Node 20 has none, and Supabase's client refuses to be made without.
vi.stubGlobal("WebSocket", class {});

afterEach(async () => {
  for (const { sdk } of open.splice(0)) await sdk.close();
});

test.each(["stripe", "supabase", "axios", "openai", "anthropic"])(
  "the snippet for %s makes one call, once, under its name",
  async (name) => {
    const sent: string[] = [];
    const api = vi.fn(async (url: string, init: RequestInit) => {
      sent.push(`${init.method} ${url} ${new Headers(init.headers).get("idempotency-key")} ${init.body?.toString()}`);
      return Response.json({ id: "1" });
    });
    const globals = Object.create(globalThis, { fetch: { value: api } });
    await runSnippet(snippets.get(name) ?? "", modules, { secret: "s", globalThis: globals });
    expect(sent).toHaveLength(1);
    const [wrapped] = open;
    const records: unknown[] = [];
    for await (const record of wrapped?.sdk.list() ?? []) records.push(record);
    expect(records).toMatchObject([{ state: "succeeded", key: expect.stringMatching(/-7$/) }]);
  },
);

test("every library of the table has a snippet that is run", () => {
  expect([...snippets.keys()].sort()).toEqual(["anthropic", "axios", "openai", "stripe", "supabase"]);
});
