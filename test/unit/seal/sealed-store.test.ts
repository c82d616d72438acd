import { expect, test } from "vitest";
import type { OperationRecord, StoredResponse } from "../../../src/core/record.js";
import { webCryptoSeal } from "../../../src/seal.js";
import type { Seal, Store } from "../../../src/store.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { newRecord } from "../../../src/testing/store-contract/records.js";

const context = { name: "shop", clock: { now: () => 0, sleep: async () => {} } };
const keyOf = (byte: number): Uint8Array<ArrayBuffer> => new Uint8Array(32).fill(byte);
const bytes = (text: string): ArrayBuffer => new TextEncoder().encode(text).slice().buffer;
const text = (body: ArrayBuffer | undefined): string => new TextDecoder().decode(body);

async function within(seal: Seal, store: Store = memoryStore()): Promise<{ store: Store; sealed: Store }> {
  const sealed = seal.over(store);
  await sealed.open(context);
  return { store, sealed };
}

async function recorded(sealed: Store, body = '{"amount":2500}'): Promise<OperationRecord> {
  const given = newRecord();
  return (await sealed.insert({ ...given, request: { ...given.request, body: bytes(body) } })).record;
}

test("a body is sealed in the store and open outside of it, byte for byte", async () => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1), id: "2026-11" }));
  const body = bytes("\u0000\uFEFF café \n 💶");
  const given = newRecord();
  const { record } = await sealed.insert({ ...given, request: { ...given.request, body } });
  expect(record.request).toEqual({ ...given.request, body });
  const standing = await store.get(record.id);
  expect(standing?.request.sealed).toEqual({ key: "2026-11" });
  expect(text(standing?.request.body)).not.toContain("café");
  expect((await sealed.get(record.id))?.request.body).toEqual(body);
});

const answer = (change: Partial<StoredResponse> = {}): StoredResponse => ({
  status: 201,
  headers: { location: "/transfers/secret" },
  body: bytes("paid ann"),
  replayed: false,
  ...change,
});

/** The record with this answer, as the client has it settled. */
async function settled(sealed: Store, id: string, given = answer()): Promise<OperationRecord | undefined> {
  const response = await sealed.sealing?.response(id, given);
  return sealed.update(id, (record) => ({ ...record, state: "succeeded", settledAt: 1, response }));
}

test("an answer's headers and body are sealed, its status is not", async () => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  const { id } = await recorded(sealed);
  const after = await settled(sealed, id);
  expect(after?.response).toEqual(answer());
  const standing = (await store.get(id)) as OperationRecord;
  expect(standing.response).toMatchObject({ status: 201, headers: {}, sealed: { key: "1" } });
  expect(JSON.stringify(standing)).not.toContain("secret");
  expect(text(standing.response?.body)).not.toMatch(/ann|secret/);
  expect((await sealed.get(id))?.response).toEqual(answer());
});

test("an answer without a body is told from one with an empty body", async () => {
  const { sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  for (const body of [undefined, new ArrayBuffer(0)]) {
    const { id } = await recorded(sealed);
    await settled(sealed, id, answer({ body }));
    expect((await sealed.get(id))?.response?.body).toEqual(body);
  }
});

test("an answer in the clear is refused, and nothing is written", async () => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  const { id } = await recorded(sealed);
  await expect(sealed.update(id, (record) => ({ ...record, response: answer() }))).rejects.toThrow(/not sealed/);
  expect((await store.get(id))?.response).toBeUndefined();
});
