import { expect, test, vi } from "vitest";
import type { BlockedBy, NewRecord, OperationRecord, StoredResponse } from "../../../src/core/record.js";
import { sealedStore } from "../../../src/seal/sealed-store.js";
import { WebCipher } from "../../../src/seal/web-cipher.js";
import { type WebCryptoSealOptions, webCryptoSeal } from "../../../src/seal.js";
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

test("an operation that is recorded with an answer, or a hash, has them sealed as well", async () => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  const over = { state: "succeeded", settledAt: 1, response: answer(), hash: "sha256:00" } as const;
  const { record } = await sealed.insert(newRecord(over));
  expect(record).toMatchObject({ response: answer(), hash: "sha256:00" });
  const standing = await store.get(record.id);
  expect(standing?.response).toMatchObject({ headers: {}, sealed: { key: "1" } });
  expect(standing?.hash).toMatch(/^sealed:1:/);
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

test("an answer or a body in the clear is refused, and nothing is written", async () => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  const { id, request } = await recorded(sealed);
  await expect(sealed.update(id, (record) => ({ ...record, request }))).rejects.toThrow(/a body was not sealed/);
  expect((await store.get(id))?.request.sealed?.key).toBe("1");
  await expect(sealed.update(id, (record) => ({ ...record, response: answer() }))).rejects.toThrow(/not sealed/);
  expect((await store.get(id))?.response).toBeUndefined();
});

test.each([
  [
    "one of its bytes is changed",
    (body: Uint8Array) => body.map((byte, at) => (at === body.length - 1 ? byte ^ 1 : byte)),
  ],
  ["its nonce is changed", (body: Uint8Array) => body.map((byte, at) => (at === 4 ? byte ^ 1 : byte))],
  ["it is cut short", (body: Uint8Array) => body.slice(0, -1)],
  ["nothing of it is left", () => new Uint8Array(0)],
  ["it is under the name of another key", (body: Uint8Array) => body.map((byte, at) => (at === 2 ? 50 : byte))],
])("a body does not open when %s", async (_, change) => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1), older: [{ id: "2", key: keyOf(1) }] }));
  const { id } = await recorded(sealed);
  await store.update(id, (record) => {
    const body = new Uint8Array(change(new Uint8Array(record.request.body as ArrayBuffer))).buffer;
    return { ...record, request: { ...record.request, body } };
  });
  const closed = await (
    await within(webCryptoSeal({ key: keyOf(1), older: [{ id: "2", key: keyOf(1) }] }), store)
  ).sealed.get(id);
  expect(closed?.request.sealed).toMatchObject({ key: "1", why: expect.stringContaining("the bytes were changed") });
});

test.each([
  ["to another record", (from: OperationRecord, to: OperationRecord) => ({ ...to, request: from.request })],
  [
    "from the answer to the request",
    (from: OperationRecord, to: OperationRecord) => ({ ...to, request: { ...to.request, body: from.response?.body } }),
  ],
  [
    "to another address",
    (_: OperationRecord, to: OperationRecord) => ({
      ...to,
      request: { ...to.request, url: "https://evil.example/transfers" },
    }),
  ],
  [
    "to another method",
    (_: OperationRecord, to: OperationRecord) => ({ ...to, request: { ...to.request, method: "DELETE" } }),
  ],
])("a body that is moved %s does not open", async (_, move) => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  const { id: from } = await recorded(sealed);
  await settled(sealed, from);
  const { id: to } = await recorded(sealed, '{"amount":1}');
  const moved = (await store.get(from)) as OperationRecord;
  await store.update(to, (record) => move(moved, record));
  expect((await sealed.get(to))?.request.sealed?.why).toContain("the bytes were changed");
});

test("an answer that is said to have another status does not open", async () => {
  const { store, sealed } = await within(webCryptoSeal({ key: keyOf(1) }));
  const { id } = await recorded(sealed);
  await settled(sealed, id);
  await store.update(id, (record) => ({
    ...record,
    response: { ...(record.response as StoredResponse), status: 402 },
  }));
  expect((await sealed.get(id))?.response?.sealed?.why).toContain("the bytes were changed");
});

test("after a rotation the first key seals and all open; re-sealed, the old one can go", async () => {
  const store = memoryStore();
  const old = await within(webCryptoSeal({ key: keyOf(1), id: "old" }), store);
  const { id } = await recorded(old.sealed);
  await settled(old.sealed, id);
  const pending = await recorded(old.sealed);
  const pruned = await recorded(old.sealed);
  const hash = (await old.sealed.sealing?.hash(pruned.id, "sha256:00")) as string;
  await store.update(pruned.id, (it) => ({
    ...it,
    hash,
    request: { ...it.request, body: undefined, sealed: undefined },
  }));

  const rotated = await within(
    webCryptoSeal({ key: keyOf(2), id: "new", older: [{ id: "old", key: keyOf(1) }] }),
    store,
  );
  const fresh = await recorded(rotated.sealed);
  expect((await store.get(fresh.id))?.request.sealed?.key).toBe("new");
  expect((await store.get(id))?.request.sealed?.key).toBe("old");
  expect((await rotated.sealed.get(id))?.response).toEqual(answer());
  expect(await rotated.sealed.sealing?.reseal()).toEqual({ resealed: 3, left: 0 });
  expect(await rotated.sealed.sealing?.reseal()).toEqual({ resealed: 0, left: 0 });

  const { sealed } = await within(webCryptoSeal({ key: keyOf(2), id: "new" }), store);
  expect(text((await sealed.get(id))?.request.body)).toBe('{"amount":2500}');
  expect((await sealed.get(id))?.response).toEqual(answer());
  expect(text((await sealed.get(pending.id))?.request.body)).toBe('{"amount":2500}');
  expect((await sealed.get(pruned.id))?.hash).toBe("sha256:00");
});

test("what changes while it is re-sealed keeps its change", async () => {
  const store = memoryStore();
  const old = await within(webCryptoSeal({ key: keyOf(1), id: "old" }), store);
  const { id } = await recorded(old.sealed);
  const seal = webCryptoSeal({ key: keyOf(2), id: "new", older: [{ id: "old", key: keyOf(1) }] });
  const { sealed } = await within(seal, store);
  const update = store.update.bind(store);
  // An answer comes between the reading and the writing.
  const spy = vi.spyOn(store, "update").mockImplementationOnce(async (...args) => {
    await settled(sealed, id);
    return update(...args);
  });
  expect(await sealed.sealing?.reseal()).toEqual({ resealed: 1, left: 0 });
  expect(spy).toHaveBeenCalled();
  const record = await sealed.get(id);
  expect(record).toMatchObject({ state: "succeeded", response: answer() });
  expect(text(record?.request.body)).toBe('{"amount":2500}');
  expect((await store.get(id))?.response?.sealed?.key).toBe("new");
});

test("re-sealing seals what was recorded before there was a seal, and leaves alone what it cannot open", async () => {
  const store = memoryStore();
  await store.open(context);
  const plain = await recorded(store);
  const lost = await recorded((await within(webCryptoSeal({ key: keyOf(9), id: "lost" }), store)).sealed);
  const { sealed } = await within(webCryptoSeal({ key: keyOf(1), id: "here" }), store);
  expect(text((await sealed.get(plain.id))?.request.body)).toBe('{"amount":2500}');
  expect(await sealed.sealing?.reseal()).toEqual({ resealed: 1, left: 1 });
  expect((await store.get(plain.id))?.request.sealed?.key).toBe("here");
  expect((await store.get(lost.id))?.request.sealed?.key).toBe("lost");
});

test("what another could not open is found among all that is blocked, a page at a time, with rests", async () => {
  let now = 0;
  const store = memoryStore();
  const pages = vi.spyOn(store, "page");
  const sealed = webCryptoSeal({ key: keyOf(1) }).over(store);
  expect(await sealed.sealing?.openable()).toEqual([]);
  await sealed.open({ ...context, clock: { ...context.clock, now: () => now } });
  const block = (id: string, blockedBy: BlockedBy) =>
    store.update(id, (record) => ({ ...record, state: "blocked", blockedBy }));
  for (let i = 0; i < 100; i++) await block((await recorded(sealed)).id, "refused");
  const { id } = await recorded(sealed);
  await block(id, "sealed");
  const lost = await recorded((await within(webCryptoSeal({ key: keyOf(9), id: "lost" }), store)).sealed);
  await block(lost.id, "sealed");
  const found = async (): Promise<string[]> => ((await sealed.sealing?.openable()) ?? []).map((record) => record.id);

  const seen: string[][] = [];
  for (; now < 60_000; now += 1_000) seen.push(await found());
  expect(seen.flat()).toEqual([id, id, id]);
  expect(pages).toHaveBeenCalledTimes(6);

  await block(id, "credentials");
  now += 60_000;
  expect([await found(), await found()]).toEqual([[], []]);
});

test("a key that is fetched is fetched once, and again after a failure", async () => {
  let asked = 0;
  const key = async (): Promise<Uint8Array<ArrayBuffer>> => {
    asked += 1;
    if (asked === 1) throw new Error("the vault is closed");
    return keyOf(1);
  };
  const seal = webCryptoSeal({ key });
  await expect(within(seal)).rejects.toThrow("the vault is closed");
  const { sealed } = await within(seal);
  await recorded(sealed);
  await within(seal);
  expect(asked).toBe(2);
});

test("a new key that another tab has made opens here, and is not what seals: what was begun goes on", async () => {
  const [old, fresh] = await Promise.all(
    [1, 2].map((byte) => crypto.subtle.importKey("raw", keyOf(byte), "AES-GCM", false, ["encrypt", "decrypt"])),
  );
  const all = [
    { id: "new", key: fresh as CryptoKey },
    { id: "old", key: old as CryptoKey },
  ];
  let [known, asked] = [all.slice(1), 0];
  const load = async () => {
    asked += 1;
    return known;
  };
  const store = memoryStore();
  const sealed = sealedStore(store, new WebCipher({ load }));
  await sealed.open(context);
  known = all;
  const other = sealedStore(store, new WebCipher({ load }));
  await other.open(context);
  const ids = await Promise.all([1, 2, 3].map(async () => (await recorded(other)).id));
  expect((await store.get(ids[0] as string))?.request.sealed?.key).toBe("new");

  const before = asked;
  const seen = await Promise.all(ids.map((id) => sealed.get(id)));
  expect(seen.map((record) => text(record?.request.body))).toEqual(Array(3).fill('{"amount":2500}'));
  expect(asked - before, "asked once for all that could not be opened").toBe(1);
  const { id } = await recorded(sealed);
  expect((await store.get(id))?.request.sealed?.key).toBe("old");
});

test("a source of keys that fails while it is asked again takes away none that was there", async () => {
  const key = await crypto.subtle.importKey("raw", keyOf(1), "AES-GCM", false, ["encrypt", "decrypt"]);
  let isUp = true;
  const load = async () => {
    if (!isUp) throw new Error("the vault is closed");
    return [{ id: "here", key }];
  };
  const store = memoryStore();
  const lost = await recorded((await within(webCryptoSeal({ key: keyOf(9), id: "lost" }), store)).sealed);
  const sealed = sealedStore(store, new WebCipher({ load }));
  await sealed.open(context);
  const { id } = await recorded(sealed);
  isUp = false;
  expect((await sealed.get(lost.id))?.request.sealed?.why).toContain("does not have here");
  isUp = true;
  expect((await sealed.get(lost.id))?.request.sealed?.key).toBe("lost");
  expect(text((await sealed.get(id))?.request.body)).toBe('{"amount":2500}');
  expect((await store.get((await recorded(sealed)).id))?.request.sealed?.key).toBe("here");
});

test("a CryptoKey that cannot be read out will do, and the bytes of a key may be overwritten once they are passed", async () => {
  const store = memoryStore();
  const given = keyOf(1);
  const seal = webCryptoSeal({ key: given });
  given.fill(0);
  const { id } = await recorded((await within(seal, store)).sealed);
  const key = await crypto.subtle.importKey("raw", keyOf(1), "AES-GCM", false, ["encrypt", "decrypt"]);
  const { sealed } = await within(webCryptoSeal({ key }), store);
  expect(text((await sealed.get(id))?.request.body)).toBe('{"amount":2500}');
});

test.each<[string, () => Promise<WebCryptoSealOptions>]>([
  ["key 1 has 16 bytes", async () => ({ key: new Uint8Array(16) })],
  ["neither 32 bytes nor an AES-GCM key", async () => ({ key: "secret" as never })],
  [
    "neither 32 bytes nor an AES-GCM key",
    async () => ({
      key: await crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, false, ["encrypt", "decrypt"]),
    }),
  ],
  [
    "neither 32 bytes nor an AES-GCM key",
    async () => ({ key: await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["decrypt"]) }),
  ],
  ['the id "" of a key', async () => ({ key: keyOf(1), id: "" })],
  ["two keys of the id 1", async () => ({ key: keyOf(1), older: [{ id: "1", key: keyOf(2) }] })],
  ["`key` is missing", async () => ({ id: "1" })],
  ["`keys` is not an option of webCryptoSeal", async () => ({ keys: [] }) as never],
  ["`rotateEvery` is for keys that the browser makes", async () => ({ key: keyOf(1), rotateEvery: "90d" })],
])("a wrong option is named: %s", async (told, options) => {
  const given = await options();
  expect(() => webCryptoSeal(given)).toThrow(told);
  expect(() => webCryptoSeal(given)).toThrow(expect.objectContaining({ code: "bad_option" }));
});

test("without a key and without IndexedDB the remedy is named, once the store is used", async () => {
  const seal = webCryptoSeal();
  await expect(within(seal)).rejects.toThrow(/no IndexedDB here to keep one in: pass \{ key \}/);
});

test("what is recorded in one task reaches the store together and in order, whatever each takes to seal", async () => {
  const { store } = await within(webCryptoSeal({ key: keyOf(1) }));
  const ticks: number[] = [];
  let tick = 0;
  const watched = Object.assign(Object.create(store) as Store, {
    open: () => store.open(context),
    insert: (record: NewRecord) => {
      ticks.push(tick);
      return store.insert(record);
    },
  });
  const { sealed } = await within(webCryptoSeal({ key: keyOf(1) }), watched);
  const records = Array.from({ length: 50 }, (_, i) =>
    newRecord({ request: { ...newRecord().request, body: new ArrayBuffer(i % 7 === 0 ? 1_000_000 : 10) } }),
  );
  const count = setInterval(() => (tick += 1), 0);
  const inserted = await Promise.all(records.map((record) => sealed.insert(record)));
  clearInterval(count);
  expect(new Set(ticks).size).toBe(1);
  expect(inserted.map(({ record }) => record.id)).toEqual(records.map(({ id }) => id));
  expect(inserted.map(({ record }) => record.seq)).toEqual(
    inserted.map(({ record }) => record.seq).sort((a, b) => a - b),
  );
});

test("what a store of one's own can do besides is still there", async () => {
  const line = { post: () => {}, close: () => {} };
  const store = Object.assign(memoryStore(), { reset: true, openChannel: () => line });
  const { sealed } = await within(webCryptoSeal({ key: keyOf(1) }), store);
  expect(sealed.openChannel?.(() => {})).toBe(line);
  expect(Reflect.get(sealed, "reset")).toBe(true);
  expect(sealed.insertWithin).toBeUndefined();
});
