/** Supabase's SDK. The server answers as PostgREST's and Storage's documentation say: neither remembers keys. */

import type { WrappedFetch } from "samekey";
import { beforeEach, expect, test } from "vitest";
import { keepsThePromise } from "./promise.js";
import { supabaseOver } from "./subjects/supabase.js";

/** Rows by id, as a table with a primary key holds them. */
const rows = new Map<string, object>();
const objects = new Map<string, Uint8Array>();
beforeEach(() => {
  rows.clear();
  objects.clear();
});

async function handle(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (url.pathname.startsWith("/storage/v1/object/")) {
    const path = url.pathname.slice("/storage/v1/object/".length);
    if (objects.has(path) && request.headers.get("x-upsert") !== "true")
      return Response.json({ statusCode: "409", error: "Duplicate", message: "exists" }, { status: 400 });
    objects.set(path, new Uint8Array(await request.arrayBuffer()));
    return Response.json({ Id: "o-1", Key: path });
  }
  if (request.headers.get("apikey") === null) return Response.json({ message: "No API key found" }, { status: 401 });
  const row = (await request.json()) as { id: string };
  const merges = request.headers.get("prefer")?.includes("resolution=merge-duplicates");
  if (rows.has(row.id) && !merges) {
    const body = {
      code: "23505",
      message: "duplicate key value violates unique constraint",
      details: null,
      hint: null,
    };
    return Response.json(body, { status: 409 });
  }
  rows.set(row.id, row);
  const told = request.headers.get("prefer")?.includes("return=representation");
  return told ? Response.json([row], { status: 201 }) : new Response(null, { status: 201 });
}

const at = keepsThePromise("supabase", {
  handle,
  result: [{ id: "7", amount: 5, to: "ä" }],
  body: '{"id":"7","amount":5,"to":"ä"}',
});

const open = (): [WrappedFetch, ReturnType<typeof supabaseOver>] => {
  const fetch = at.open();
  return [fetch, supabaseOver(fetch, at.api.url)];
};

test("what it asks for, and the schema, go with every attempt, those after a restart too", async () => {
  at.api.script("hold");
  const [fetch, client] = open();
  const paying = client
    .schema("shop")
    .from("payments")
    .upsert({ id: "8" })
    .setHeader("Idempotency-Key", "k-1")
    .select()
    .then(({ error }) => error);
  await expect.poll(() => at.api.effects.length, { timeout: 30_000 }).toBe(1);
  await fetch.sdk.close({ timeout: 0 });
  expect(await paying).not.toBeNull();
  expect(await at.open().sdk.resume()).toMatchObject({ succeeded: 1 });
  const told = at.api.arrivals.map(({ headers }) => [headers.prefer, headers["content-profile"], headers.apikey]);
  expect(told).toEqual(
    Array(2).fill(["resolution=merge-duplicates, return=representation", "shop", "sb_publishable_1"]),
  );
});

test("a refusal is its PostgrestError", async () => {
  at.api.script(Response.json({ code: "42501", message: "no", details: null, hint: null }, { status: 403 }));
  const [, client] = open();
  const { data, error, status } = await client.from("payments").upsert({ id: "9" }).setHeader("Idempotency-Key", "k-2");
  expect([data, error?.code, status]).toEqual([null, "42501", 403]);
});

test("a table that `only` leaves out passes through, and so does a read", async () => {
  const [fetch, client] = open();
  expect((await client.from("notes").insert({ id: "1" })).status).toBe(201);
  expect(await fetch.sdk.counts()).toEqual({});
});

test("a file is uploaded under a key, the same bytes on every attempt", async () => {
  const [, client] = open();
  at.api.script("lose", "busy");
  const file = new Blob([new Uint8Array([0, 255])], { type: "image/png" });
  const headers = { "Idempotency-Key": "k-3" };
  const { data, error } = await client.storage.from("avatars").upload("a.png", file, { upsert: true, headers });
  expect([error, data?.id]).toEqual([null, "o-1"]);
  expect(new Set(at.api.arrivals.map(({ bytes }) => bytes.toString("latin1"))).size).toBe(1);
  expect(new Set(at.api.arrivals.map(({ headers: sent }) => sent["content-type"])).size).toBe(1);
  expect(at.api.arrivals.map(({ headers: sent }) => sent["x-upsert"])).toEqual(["true", "true", "true"]);
});
