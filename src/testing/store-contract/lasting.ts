import { failsAsStore, ids, ok, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import { leased, newRecord, succeeded, T0 } from "./records.js";

/** Opening, closing, and more than one handle. */
export const lasting: readonly ContractCase[] = [
  on("after another open everything is there", async ({ store, reopen }) => {
    const a = (await store.insert(newRecord({ intent: "order-1", lane: "l" }))).record;
    const b = (await store.insert(newRecord({ lane: "l" }))).record;
    await store.claim({ now: T0, limit: 1 }, (it) => leased(it, "tab-1", T0));
    const before = [await store.get(a.id), await store.get(b.id)];
    const again = await reopen();
    same([await again.get(a.id), await again.get(b.id)], before, "the records");
    same(await again.counts(), { pending: 2 }, "the counts");
    same((await again.find("ada", "transfer", "order-1"))?.id, a.id, "the intent");
    same((await again.insert(newRecord({ intent: "order-1" }))).joined, "intent", "which is still held");
    same((await again.head("ada", "l"))?.id, a.id, "the lane");
    await again.update(a.id, (it) => succeeded(it, T0));
    same(ids((await again.claim({ now: T0, limit: 9 }, (it) => leased(it, "tab-2", T0))).records), [b.id], "the times");
    ok((await again.insert(newRecord())).record.seq > b.seq, "and the order goes on");
  }),

  on("opening again is nothing", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    await store.open({ name: "contract", clock: { now: () => T0, sleep: async () => {} } });
    same(await store.get(record.id), record, "the record is there");
  }),

  on("after close every verb is a StoreError", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    await store.close();
    await store.close();
    const keep = <T>(it: T): T => it;
    await failsAsStore(store.insert(newRecord()), "insert");
    await failsAsStore(store.claim({ now: T0, limit: 1 }, keep), "claim");
    await failsAsStore(store.update(record.id, keep), "update");
    await failsAsStore(store.get(record.id), "get");
    await failsAsStore(store.find("ada", "transfer", "x"), "find");
    await failsAsStore(store.head("ada", "x"), "head");
    await failsAsStore(store.page({}), "page");
    await failsAsStore(store.counts(), "counts");
    await failsAsStore(
      store.relieve(() => true),
      "relieve",
    );
  }),

  on("what was called before close is done", async ({ store, reopen }) => {
    const given = newRecord();
    const inserting = store.insert(given);
    await store.close();
    await inserting;
    ok(await (await reopen()).get(given.id), "the record is there");
  }),

  on("two handles see each other's writes", async ({ store, second }) => {
    const other = await second();
    const { record } = await store.insert(newRecord({ intent: "order-1" }));
    same(await other.get(record.id), record, "an insert");
    same((await other.insert(newRecord({ intent: "order-1" }))).joined, "intent", "its intent");
    const changed = await other.update(record.id, (it) => succeeded(it, T0));
    same(await store.get(record.id), changed, "and the other way round");
    same(
      await store.update(record.id, (it) => ({ ...it, timeouts: 3 }), record),
      { ...changed, timeouts: 3, rev: 3 },
      "a base from before",
    );
    same(await store.counts(), { succeeded: 1 }, "and the counts");
  }),

  on("closing one handle leaves the other open", async (subject) => {
    const other = await subject.second();
    if (other === subject.store) return;
    await other.close();
    await failsAsStore(other.counts(), "the closed one");
    same((await subject.store.insert(newRecord())).joined, undefined, "the other still works");
  }),
];
