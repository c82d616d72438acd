import type { OperationRecord } from "../../core/record.js";
import { fails, ids, ok, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import { bytes, marked, newRecord, postponed, rejected, succeeded, T0 } from "./records.js";

const bump = (record: OperationRecord): OperationRecord => ({ ...record, attempts: record.attempts + 1 });

/** Changing and removing. */
export const updating: readonly ContractCase[] = [
  on("update stores what apply makes of what stands there", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    let given: OperationRecord | undefined;
    const after = await store.update(record.id, (it) => {
      given = it;
      return marked(it, T0 + 1);
    });
    same(given, record, "apply gets the record");
    same(after, { ...marked(record, T0 + 1), rev: record.rev + 1 }, "and its result stands there, one write further");
    same(await store.get(record.id), after, "for everyone");
  }),

  on("update that returns its argument writes nothing", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    same(await store.update(record.id, (it) => it), record, "the record as it stands");
    same((await store.get(record.id))?.rev, record.rev, "and no write was counted");
  }),

  on("update of a record that is not there does not call apply", async ({ store }) => {
    let called = false;
    const apply = (it: OperationRecord) => {
      called = true;
      return it;
    };
    same(await store.update("nobody", apply), undefined, "nothing stands there");
    same(called, false, "apply was not called");
  }),

  on("update that returns undefined removes the record", async ({ store }) => {
    const { record } = await store.insert(newRecord({ intent: "order-1", key: "k-1" }));
    same(await store.update(record.id, () => undefined), undefined, "nothing stands there afterwards");
    same(await store.get(record.id), undefined, "nor can it be got");
    same(await store.find("ada", "transfer", "order-1"), undefined, "nor found");
    same(await store.counts(), {}, "nor is it counted");
    same((await store.claim({ now: T0, limit: 9 }, bump)).records, [], "nor claimed");
    const anew = await store.insert(newRecord({ intent: "order-1", key: "k-1" }));
    same(anew.joined, undefined, "intent and key are free");
    ok(anew.record.seq > record.seq, "and its place in the order is not given away again");
  }),

  on(
    "of twenty updates at once none is lost",
    async ({ store, second }) => {
      const { record } = await store.insert(newRecord());
      const other = await second();
      await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? store : other).update(record.id, bump)));
      same((await store.get(record.id))?.attempts, 20, "all twenty applied");
      same((await store.get(record.id))?.rev, record.rev + 20, "and counted");
    },
    "F71",
  ),

  on(
    "of twenty updates with one base none is lost",
    async ({ store }) => {
      const { record } = await store.insert(newRecord());
      const results = await Promise.all(Array.from({ length: 20 }, () => store.update(record.id, bump, record)));
      same(results.map((it) => it?.attempts).sort((a = 0, b = 0) => a - b)[19], 20, "the last saw all others");
      same((await store.get(record.id))?.attempts, 20, "all twenty applied");
    },
    "F71",
  ),

  on("a base that is out of date is not believed", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    await store.update(record.id, (it) => ({ ...it, timeouts: 7 }));
    const after = await store.update(record.id, bump, record);
    same([after?.timeouts, after?.attempts], [7, 1], "the change was made on what stands there");
    await store.update(record.id, () => undefined);
    same(await store.update(record.id, bump, after), undefined, "and nothing is made of what is gone");
    same(await store.get(record.id), undefined, "it stays gone");
  }),

  on("a base that is right gives the same result as none", async ({ store }) => {
    const a = (await store.insert(newRecord({ intent: "a", lane: "l" }))).record;
    const next = (await store.insert(newRecord({ lane: "l" }))).record;
    const claimed = await store.update(a.id, (it) => marked(it, T0), a);
    same(claimed, { ...marked(a, T0), rev: a.rev + 1 }, "the new record comes back");
    const done = await store.update(a.id, (it) => succeeded(it, T0 + 1), claimed);
    same(await store.get(a.id), done, "and stands there");
    same(done?.response?.body, bytes('{"id":"tr_1"}'), "with the answer's body");
    same(done?.request.body, a.request.body, "and the request's");
    same(await store.counts(), { succeeded: 1, pending: 1 }, "counts follow");
    same((await store.get(next.id))?.parked, undefined, "the lane goes on");
    await store.update(a.id, () => undefined, done);
    same(await store.get(a.id), undefined, "and it can be removed");
  }),

  on(
    "an updater that throws changes nothing and fails alone",
    async ({ store }) => {
      const made = await Promise.all([1, 2, 3].map(() => store.insert(newRecord())));
      const [a, b, c] = made.map(({ record }) => record) as [OperationRecord, OperationRecord, OperationRecord];
      const reason = new Error("no such move");
      const bad = (it: OperationRecord): OperationRecord => {
        bump(it);
        throw reason;
      };
      const [first, second, third, fourth] = await Promise.allSettled([
        store.update(a.id, bump),
        store.update(b.id, bad, b),
        store.update(b.id, bad),
        store.update(c.id, bump, c),
      ]);
      same([first.status, fourth.status], ["fulfilled", "fulfilled"], "its neighbours in the transaction succeed");
      for (const outcome of [second, third]) {
        ok(outcome.status === "rejected" && outcome.reason === reason, "the verb rejects with what was thrown");
      }
      const now = await Promise.all([a, b, c].map(({ id }) => store.get(id)));
      same(
        now.map((it) => it?.attempts),
        [1, 0, 1],
        "only the others changed",
      );
      same(now[1], b, "and the record is as it was");
    },
    "F71",
  ),

  on(
    "an updater that returns a promise is refused",
    async ({ store }) => {
      const { record } = await store.insert(newRecord());
      const late = (async (it: OperationRecord) => bump(it)) as unknown as (it: OperationRecord) => OperationRecord;
      await fails(store.update(record.id, late), "update without a base");
      await fails(store.update(record.id, late, record), "update with a base");
      await fails(store.claim({ now: T0, limit: 1 }, late), "claim");
      same(await store.get(record.id), record, "the record is as it was");
    },
    "F69 F82",
  ),

  on(
    "a value that cannot be kept is refused and the old one stays",
    async ({ store }) => {
      const { record } = await store.insert(newRecord());
      const unreadable = Object.defineProperty({}, "value", {
        enumerable: true,
        get() {
          throw new Error("unreadable");
        },
      });
      const bad = (it: OperationRecord) => ({ ...bump(it), extra: unreadable }) as OperationRecord;
      const [wrong, right] = await Promise.allSettled([store.update(record.id, bad), store.update(record.id, bump)]);
      same([wrong.status, right.status], ["rejected", "fulfilled"], "only that one fails");
      same((await store.get(record.id))?.attempts, 1, "the old value stayed and could be changed");
    },
    "F71",
  ),

  on("id and order cannot be changed", async ({ store }) => {
    const { record } = await store.insert(newRecord());
    const moved = await store.update(record.id, (it) => ({ ...bump(it), id: "other", seq: it.seq + 50, rev: 70 }));
    same([moved?.id, moved?.seq, moved?.rev], [record.id, record.seq, record.rev + 1], "they stay");
    same(await store.get("other"), undefined, "under no other name");
  }),

  on("fields that this version does not know are kept", async ({ store, reopen }) => {
    const future = { settlement: { currency: "EUR", legs: [1, 2, { to: null }] }, urgent: true };
    const { record } = await store.insert({ ...newRecord(), ...future } as never);
    await store.claim({ now: T0, limit: 1 }, (it) => marked(it, T0));
    await store.update(record.id, (it) => postponed(it, T0, 1000));
    const kept = (await (await reopen()).get(record.id)) as unknown as typeof future;
    same({ settlement: kept.settlement, urgent: kept.urgent }, future, "through every verb");
  }),

  on("bodies come back byte for byte", async ({ store, reopen }) => {
    const every = Uint8Array.from({ length: 256 }, (_, i) => i);
    const large = Uint8Array.from({ length: 1_048_576 }, (_, i) => (i * 31 + (i >> 8)) & 255);
    const bodies = [new Uint8Array(), every, large].map(({ buffer }) => buffer as ArrayBuffer);
    const given = newRecord();
    const made = await Promise.all(
      bodies.map((body) => store.insert({ ...newRecord(), request: { ...given.request, body } })),
    );
    const without = await store.insert({ ...newRecord(), request: { ...given.request, body: undefined } });
    for (const [i, { record }] of made.entries()) {
      await store.update(record.id, (it) => ({
        ...rejected(it, T0),
        response: { status: 400, headers: {}, replayed: false, body: bodies[bodies.length - 1 - i] },
      }));
    }
    const again = await reopen();
    for (const [i, { record }] of made.entries()) {
      const found = await again.get(record.id);
      ok(found?.request.body instanceof ArrayBuffer, "a body is an ArrayBuffer");
      same(found.request.body, bodies[i], `request body of ${bodies[i]?.byteLength} bytes`);
      same(found.response?.body, bodies[bodies.length - 1 - i], "response body");
    }
    same((await again.get(without.record.id))?.request.body, undefined, "no body is not an empty one");
  }),

  on("a body can be dropped, and the record stays", async ({ store, reopen }) => {
    const { record } = await store.insert(newRecord());
    const done = await store.update(record.id, (it) => succeeded(it, T0));
    const prune = (it: OperationRecord): OperationRecord => ({
      ...it,
      request: { ...it.request, body: undefined },
      response: it.response && { ...it.response, body: undefined, pruned: true },
    });
    await store.update(record.id, prune, done);
    const found = await (await reopen()).get(record.id);
    same([found?.request.body, found?.response?.body], [undefined, undefined], "both bodies are gone");
    same([found?.response?.status, found?.response?.pruned], [201, true], "the rest is not");
  }),

  on("verbs called in one tick see each other in the order of the calls", async ({ store }) => {
    const given = newRecord();
    const [, changed, got, page, claimed] = await Promise.all([
      store.insert(given),
      store.update(given.id, bump),
      store.get(given.id),
      store.page({}),
      store.claim({ now: T0, limit: 1 }, bump),
    ]);
    same([changed?.attempts, got?.attempts], [1, 1], "the update, then the read");
    same(ids(page), [given.id], "the page");
    same(claimed.records[0]?.attempts, 2, "and the claim");
  }),
];
