import type { OperationRecord } from "../../core/record.js";
import { failsAsStore, ids, ok, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import { blocked, bytes, discarded, newRecord, rejected, succeeded, T0, unresolved } from "./records.js";

/** Recording a new operation, or meeting the one that stands. */
export const inserting: readonly ContractCase[] = [
  on("insert records everything that was given, and gives an order", async ({ store }) => {
    const first = newRecord({ intent: "order-1", lane: "account-1", deadline: T0 + 5, traceparent: "00-ab-cd-01" });
    const { record, joined } = await store.insert(first);
    same(joined, undefined, "a new record joins nothing");
    same(record, { ...first, seq: record.seq, rev: record.rev }, "the record is what was given");
    same(await store.get(first.id), record, "and it stands in the store");
    const later = await store.insert(newRecord());
    ok(later.record.seq > record.seq, "later records have a higher seq");
  }),

  on("insert with an id that stands there joins it", async ({ store }) => {
    const first = await store.insert(newRecord());
    const again = await store.insert(newRecord({ id: first.record.id }));
    same(again, { record: first.record, joined: "id" }, "the earlier record comes back");
    same((await store.page({})).length, 1, "and nothing was added");
  }),

  on("insert with an id joins it whatever became of it", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    const settled = await store.update(record.id, (it) => rejected(it, T0));
    same(await store.insert(newRecord({ id: record.id })), { record: settled, joined: "id" }, "ids are never reused");
  }),

  on("insert with a held intent joins it", async ({ store }) => {
    const first = await store.insert(newRecord({ intent: "order-1" }));
    const again = await store.insert(newRecord({ intent: "order-1" }));
    same(again, { record: first.record, joined: "intent" }, "the holder comes back");
  }),

  on("insert refuses one more than may be pending or blocked, and joins all the same", async ({ store }) => {
    const limits = { maxPending: 3 };
    const refused = async (what: string, act: Promise<unknown>) => {
      const error = await act.then(
        () => undefined,
        (thrown: unknown) => thrown as { code?: string },
      );
      same(error?.code, "store_full", what);
    };
    const a = (await store.insert(newRecord({ intent: "order-1" }), limits)).record;
    const b = (await store.insert(newRecord({ owner: "bob" }), limits)).record;
    await store.update(b.id, blocked);
    const many = Array.from({ length: 4 }, () => newRecord());
    const outcomes = await Promise.allSettled([
      ...many.map((record) => store.insert(record, limits)),
      store.insert(newRecord({ intent: "order-1" }), limits),
    ]);
    same(outcomes.map(({ status }) => status).join(), "fulfilled,rejected,rejected,rejected,fulfilled", "of one tick");
    same(await store.counts(), { pending: 2, blocked: 1 }, "no more than three are there");
    await refused("a fourth", store.insert(newRecord(), limits));
    same((await store.insert(newRecord({ id: b.id }), limits)).joined, "id", "by id");
    same((await store.insert(newRecord({ key: a.key }), limits)).joined, "key", "by key");
    ok(!(await store.insert(newRecord(), { maxPending: undefined })).joined, "without a limit there is none");
    await store.update(a.id, (it) => succeeded(it, T0));
    await refused("while three are left", store.insert(newRecord(), limits));
    await store.update(b.id, (it) => succeeded(it, T0));
    ok(!(await store.insert(newRecord(), limits)).joined, "there is room again");
    const settled = succeeded(newRecord() as OperationRecord, T0);
    ok(!(await store.insert(settled, limits)).joined, "for what is over already there always is");
  }),

  on("an intent belongs to one owner and one operation", async ({ store }) => {
    await store.insert(newRecord({ intent: "order-1" }));
    for (const other of [{ owner: "bob" }, { name: "refund" }, { intent: "order-2" }]) {
      const { joined } = await store.insert(newRecord({ intent: "order-1", ...other }));
      same(joined, undefined, `no match across ${Object.keys(other)}`);
    }
    const odd = await store.insert(newRecord({ owner: 'ada","transfer', name: "", intent: "order-1" }));
    same(odd.joined, undefined, "however the names are spelled");
  }),

  on("insert with a held key joins it", async ({ store }) => {
    const first = await store.insert(newRecord({ key: "k-1" }));
    const again = await store.insert(newRecord({ key: "k-1", intent: "order-9" }));
    same(again, { record: first.record, joined: "key" }, "the holder comes back");
  }),

  on("a key belongs to one owner and one origin", async ({ store }) => {
    await store.insert(newRecord({ key: "k-1" }));
    for (const other of [{ owner: "bob" }, { origin: "https://other.example.com" }, { key: "k-2" }]) {
      const { joined } = await store.insert(newRecord({ key: "k-1", ...other }));
      same(joined, undefined, `no match across ${Object.keys(other)}`);
    }
  }),

  on("the intent is looked at before the key, the id before both", async ({ store }) => {
    const byIntent = await store.insert(newRecord({ intent: "order-1" }));
    const byKey = await store.insert(newRecord({ key: "k-1" }));
    const byId = await store.insert(newRecord());
    const both = { intent: "order-1", key: "k-1" };
    same((await store.insert(newRecord(both))).record.id, byIntent.record.id, "intent first");
    same((await store.insert(newRecord({ ...both, id: byId.record.id }))).record.id, byId.record.id, "id first of all");
    same((await store.insert(newRecord({ key: "k-1" }))).record.id, byKey.record.id, "then the key");
  }),

  on("of many inserts of one intent in one tick, one is new", async ({ store }) => {
    const results = await Promise.all(Array.from({ length: 20 }, () => store.insert(newRecord({ intent: "order-1" }))));
    same(
      results.map(({ joined }) => joined ?? "new").sort(),
      ["intent", ...Array(18).fill("intent"), "new"],
      "one new",
    );
    same(new Set(results.map(({ record }) => record.id)).size, 1, "and all get the same record");
    same((await store.page({})).length, 1, "which is the only one");
  }),

  on("intent and key are free after a certain no, and held after a success", async ({ store }) => {
    const what = { intent: "order-1", key: "k-1" };
    const first = (await store.insert(newRecord(what))).record;
    await store.update(first.id, (it) => rejected(it, T0 + 1));
    const second = await store.insert(newRecord(what));
    same(second.joined, undefined, "free after rejected");
    await store.update(second.record.id, (it) => succeeded(it, T0 + 2));
    same((await store.insert(newRecord(what))).record.id, second.record.id, "held after succeeded");
  }),

  on("misused holds the intent unless the server only refused the content", async ({ store }) => {
    for (const [code, joined] of [
      ["key_reused", "intent"],
      ["unprocessable", undefined],
    ] as const) {
      const { record } = await store.insert(newRecord({ intent: code }));
      await store.update(record.id, (it) => ({ ...rejected(it, T0), state: "misused", code }));
      same((await store.insert(newRecord({ intent: code }))).joined, joined, `after misused with ${code}`);
    }
  }),

  on("an unknown outcome holds the intent until it is discarded", async ({ store }) => {
    const { record } = await store.insert(newRecord({ intent: "order-1" }));
    await store.update(record.id, (it) => unresolved(it, T0));
    same((await store.insert(newRecord({ intent: "order-1" }))).joined, "intent", "held while unresolved");
    await store.update(record.id, (it) => discarded(it, T0));
    same((await store.insert(newRecord({ intent: "order-1" }))).joined, undefined, "free once discarded");
  }),

  on("a late success is kept although another has taken the intent since", async ({ store }) => {
    const what = { intent: "order-1", key: "k-1" };
    const { record: first } = await store.insert(newRecord(what));
    await store.update(first.id, (it) => discarded(unresolved(it, T0), T0));
    const { record: second } = await store.insert(newRecord(what));
    const late = await store.update(first.id, (it) => succeeded({ ...it, resolution: undefined }, T0 + 9));
    same(late?.state, "succeeded", "the truth is stored");
    same((await store.insert(newRecord(what))).record.id, second.id, "the later one still holds the intent");
    same(ids(await store.page({ intent: "order-1" })), [first.id, second.id], "both are there");
  }),

  on("a late success answers for its intent again once the one that took it lets go", async ({ store }) => {
    for (const [how, end] of [
      ["rejected", (it: OperationRecord) => rejected(it, T0 + 10)],
      ["removed", () => undefined],
    ] as const) {
      const what = { intent: how, key: how };
      const { record: first } = await store.insert(newRecord(what));
      await store.update(first.id, (it) => discarded(unresolved(it, T0), T0));
      const { record: second } = await store.insert(newRecord(what));
      await store.update(first.id, (it) => succeeded({ ...it, resolution: undefined }, T0 + 9));
      await store.update(second.id, end);
      const third = await store.insert(newRecord(what));
      same([third.record.id, third.joined], [first.id, "intent"], `${how}: the first was applied, so no second key`);
      await store.update(first.id, () => undefined);
      same((await store.insert(newRecord(what))).joined, undefined, "until it is removed as well");
    }
  }),

  on("a new key of an operation is held and its old one is free", async ({ store }) => {
    const { record } = await store.insert(newRecord({ key: "k-1" }));
    await store.update(record.id, (it) => ({ ...it, key: "k-2" }));
    same((await store.insert(newRecord({ key: "k-2" }))).joined, "key", "the new key is held");
    same((await store.insert(newRecord({ key: "k-1" }))).joined, undefined, "the old one is free");
  }),

  on("an operation cannot move to where another holds its intent or key", async ({ store }) => {
    for (const what of [{ intent: "order-1" }, { key: "k-1" }]) {
      const bobs = (await store.insert(newRecord({ owner: "bob", ...what }))).record;
      const adas = (await store.insert(newRecord({ ...what }))).record;
      const error = await failsAsStore(
        store.update(adas.id, (it) => ({ ...it, owner: "bob" })),
        "the move is refused",
      );
      same(error.record?.id, bobs.id, "and the error tells by which");
      same(await store.get(adas.id), adas, "nothing was changed");
    }
  }),

  on("later changes to what was passed in do not reach the store", async ({ store }) => {
    const body = bytes("abc");
    const given = newRecord();
    const { record } = await store.insert({ ...given, request: { ...given.request, body } });
    new Uint8Array(body).fill(0);
    same((await store.get(record.id))?.request.body, bytes("abc"), "the store has its own bytes");
  }),
];
