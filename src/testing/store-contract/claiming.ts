import { type OperationRecord, readerOf } from "../../core/record.js";
import type { Store } from "../../store.js";
import { ids, ok, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import { blocked, leased, newRecord, postponed, rejected, succeeded, T0 } from "./records.js";

const minute = 60_000;
const keep = (record: OperationRecord) => record;

async function insertAll(store: Store, ...changes: Parameters<typeof newRecord>[0][]): Promise<OperationRecord[]> {
  const made = await Promise.all(changes.map((change) => store.insert(newRecord(change))));
  return made.map(({ record }) => record);
}

const claimIds = async (store: Store, now: number, query: object = {}): Promise<string[]> =>
  ids((await store.claim({ now, limit: 100, ...query }, (it) => leased(it, "tab-1", now))).records);

/** Taking what is due. */
export const claiming: readonly ContractCase[] = [
  on("claim takes what is due, earliest first, up to the limit", async ({ store }) => {
    const [later, first, , future] = await insertAll(
      store,
      { nextAttemptAt: T0 - 10, delay: 10 },
      { nextAttemptAt: T0 - 30, delay: 10 },
      { nextAttemptAt: T0, delay: 10 },
      { nextAttemptAt: T0 + 1, delay: 10 },
    );
    const claimed = await store.claim({ now: T0, limit: 2 }, (it) => leased(it, "tab-1", T0));
    same(ids(claimed.records), ids([first, later] as OperationRecord[]), "the two earliest");
    for (const record of claimed.records) same(await store.get(record.id), record, "as they stand in the store now");
    same((await claimIds(store, T0)).length, 1, "the third is left for the next claim");
    same(await claimIds(store, T0), [], "the fourth is not due");
    same(await claimIds(store, T0 + 1), [future?.id], "until its time has come");
  }),

  on("records that apply leaves alone are skipped and not counted", async ({ store }) => {
    const made = await insertAll(store, ...Array.from({ length: 12 }, () => ({})));
    const last = made.at(-1)?.id;
    const query = { now: T0, limit: 1 };
    const claimed = await store.claim(query, (it) => (it.id === last ? leased(it, "tab-1", T0) : it));
    same(ids(claimed.records), [last], "the only one that was taken");
    same((await store.get(made[0]?.id ?? ""))?.rev, made[0]?.rev, "the others were not written");
    same((await store.claim(query, keep)).records, [], "nothing taken is nothing claimed");
  }),

  on("an apply that throws claims nothing", async ({ store }) => {
    const [first, second] = await insertAll(store, {}, {});
    const bad = (it: OperationRecord) => {
      if (it.id === second?.id) throw new Error("no such move");
      return leased(it, "tab-1", T0);
    };
    const [outcome] = await Promise.allSettled([store.claim({ now: T0, limit: 9 }, bad)]);
    same(outcome?.status, "rejected", "the claim fails");
    same(await store.get(first?.id ?? ""), first, "and holds nothing");
  }),

  on("a claim whose second record cannot be kept claims nothing, and fails alone", async ({ store }) => {
    const [first, second] = await insertAll(store, {}, {});
    const unreadable = Object.defineProperty({}, "value", {
      enumerable: true,
      get() {
        throw new Error("unreadable");
      },
    });
    const bad = (it: OperationRecord) => {
      const taken = leased(it, "tab-1", T0);
      return it.id === second?.id ? ({ ...taken, extra: unreadable } as OperationRecord) : taken;
    };
    const outcomes = await Promise.allSettled([store.claim({ now: T0, limit: 9 }, bad), store.insert(newRecord())]);
    same(
      outcomes.map(({ status }) => status),
      ["rejected", "fulfilled"],
      "its neighbour in the transaction succeeds",
    );
    same(await store.get(first?.id ?? ""), first, "the record before it is as it was");
  }),

  on("among many claimers each record goes to one", async ({ store, second }) => {
    await insertAll(store, ...Array.from({ length: 60 }, () => ({})));
    const handles = [store, await second()];
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (handles[i % 2] as Store).claim({ now: T0, limit: 7 }, (it) => leased(it, `holder-${i}`, T0)),
      ),
    );
    const taken = claims.flatMap(({ records }) => ids(records));
    same([taken.length, new Set(taken).size], [60, 60], "all are claimed, none twice");
    for (const [i, { records }] of claims.entries()) {
      for (const { id } of records) same((await store.get(id))?.lease?.holder, `holder-${i}`, "each by its claimer");
    }
  }),

  on("a leased record is taken again only when its lease is over", async ({ store }) => {
    const [record] = await insertAll(store, {});
    await store.claim({ now: T0, limit: 1 }, (it) => leased(it, "tab-1", T0, 1000));
    same(await claimIds(store, T0 + 999), [], "not before");
    same(await claimIds(store, T0 + 999, { ids: [record?.id] }), [], "not by name either");
    same(await claimIds(store, T0 + 1000), [record?.id], "then it is");
    same((await store.get(record?.id ?? ""))?.fence, 2, "under a new fence");
  }),

  on("a lease that ends beyond now and its length is over", async ({ store }) => {
    const [a, b] = await insertAll(store, {}, {});
    await store.claim({ now: T0, limit: 2 }, (it) => leased(it, "tab-1", T0, 1000));
    same(await claimIds(store, T0 - minute, { ids: [a?.id] }), [a?.id], "by name, after the clock jumped back");
    same(await claimIds(store, T0 - minute), [b?.id], "and by time");
  }),

  on("a clock that lags a little has not jumped back", async ({ store }) => {
    const [held, waiting] = await insertAll(store, {}, {});
    await store.claim({ now: T0, limit: 1, ids: [held?.id ?? ""] }, (it) => leased(it, "tab-1", T0, 1000));
    await store.update(waiting?.id ?? "", (it) => postponed(it, T0, 5000));
    // Another tab's clock, or one that was read before the store got to look.
    same(await claimIds(store, T0 - 5000), [], "no lease is broken for it, and no wait cut short");
    same(await claimIds(store, T0 - 5000, { ids: [held?.id] }), [], "not by name either");
  }),

  on("a wait that began in the future is over", async ({ store }) => {
    const twoDays = 2_880 * minute;
    const [record] = await insertAll(store, {});
    await store.update(record?.id ?? "", (it) => postponed(it, T0, 5000));
    same(await claimIds(store, T0 + 4999), [], "while the clock is right, the wait is kept");
    same(await claimIds(store, T0 - twoDays), [record?.id], "two days back nothing is parked for two days");
  }),

  on("claim by name takes what is not due, and only that", async ({ store }) => {
    const [a, b] = await insertAll(store, {}, { nextAttemptAt: T0 + 9000, delay: 9000 });
    same(await claimIds(store, T0, { ids: [b?.id, "nobody", b?.id] }), [b?.id], "the named one, once");
    same((await store.get(a?.id ?? ""))?.lease, undefined, "no other");
    const [stuck] = await insertAll(store, {});
    await store.update(stuck?.id ?? "", blocked);
    same(await claimIds(store, T0, { ids: [stuck?.id] }), [stuck?.id], "blocked ones too");
    same(await claimIds(store, T0, { ids: [] }), [], "none named, none taken");
  }),

  on("claim keeps to the owner and leaves origins alone", async ({ store }) => {
    const other = "https://other.example.com";
    const [a, b, c] = await insertAll(store, {}, { owner: "bob" }, { origin: other });
    same(await claimIds(store, T0, { owner: "bob" }), [b?.id], "bob's only");
    same(await claimIds(store, T0, { owner: "eve" }), [], "nobody's");
    same(await claimIds(store, T0, { exceptOrigins: [other], owner: "ada" }), [a?.id], "all but the named origin");
    same(await claimIds(store, T0, { exceptOrigins: ["https://api.example.com"] }), [c?.id], "the other way round");
    same(await claimIds(store, T0, { owner: "ada", ids: [b?.id] }), [], "nor by name for someone else");
  }),

  on("claim leaves alone what only others can read", async ({ store }) => {
    const read = (profile: string) => ({ wire: { ...newRecord().wire, profile } });
    const name = 'pay\u0000"\ud800';
    const [bank, plain, other, mine] = await insertAll(
      store,
      read("bank"),
      {},
      { ...read("bank"), name },
      read("acme"),
    );
    const [awkward] = await insertAll(store, read("\udfff\u0000\n'"));
    const all = [bank, other, awkward] as OperationRecord[];
    const exceptReaders = new Set(all.map(readerOf));
    same(new Set(exceptReaders).size, 3, "an operation under a profile, each");
    same(await claimIds(store, T0, { exceptReaders, ids: ids(all) }), [], "by name");
    same(
      await claimIds(store, T0, { exceptReaders, owner: "ada" }),
      ids([plain, mine] as OperationRecord[]),
      "by time",
    );
    const { records, next } = await store.claim({ now: T0 + 1, limit: 9, exceptReaders }, keep);
    same([records, next], [[], (await store.get(plain?.id ?? ""))?.lease?.until], "nor does `next` tell of them");
    same(
      await claimIds(store, T0, { exceptReaders: new Set([readerOf(all[0] as OperationRecord)]) }),
      ids(all.slice(1)),
      "all but one",
    );
    const back = T0 - 2_880 * minute;
    same(await claimIds(store, back, { exceptReaders, ids: [bank?.id] }), [], "nor after the clock jumped back");
    same(
      await claimIds(store, back, { exceptReaders: new Set([readerOf(bank as OperationRecord)]) }).then((it) =>
        it.includes(bank?.id ?? ""),
      ),
      false,
      "by time either",
    );
    same(await claimIds(store, T0, { ids: [bank?.id] }), [bank?.id], "who can read it takes it");
  }),

  on("what apply excepts is left alone at once", async ({ store }) => {
    const wire = { ...newRecord().wire, profile: "bank" };
    await insertAll(store, ...Array.from({ length: 20 }, () => ({ wire, nextAttemptAt: T0 - 9, delay: 9 })));
    const [mine] = await insertAll(store, {});
    const exceptReaders = new Set<string>();
    let asked = 0;
    const { records, next } = await store.claim({ now: T0, limit: 2, exceptReaders }, (it) => {
      asked += 1;
      if (it.id === mine?.id) return leased(it, "tab-1", T0);
      exceptReaders.add(readerOf(it));
      return it;
    });
    same(ids(records), [mine?.id], "what stands behind it is taken");
    ok(asked < 10, `it was asked of ${asked}, of one page at most`);
    same(next, records[0]?.lease?.until, "what was left alone is not waited for");
  }),

  on("claim across owners and origins is in the order of time", async ({ store }) => {
    const made = await insertAll(
      store,
      ...[5, 3, 9, 1, 7, 2].map((ms, i) => ({
        nextAttemptAt: T0 - ms,
        owner: ["ada", "bob", "eve"][i % 3] as string,
        origin: `https://${i % 2}.example.com`,
      })),
    );
    const inTime = [...made].sort((a, b) => a.nextAttemptAt - b.nextAttemptAt);
    same(await claimIds(store, T0, { limit: 4 }), ids(inTime.slice(0, 4)), "the four earliest of all");
  }),

  on("next tells when the next one falls due", async ({ store }) => {
    const at = { delay: 5000, owner: "ada" };
    const query = { now: T0, limit: 1, owner: "ada" };
    const take = (it: OperationRecord) => leased(it, "tab-1", T0, 2000);
    same((await store.claim(query, take)).next, undefined, "nothing waits");
    await insertAll(store, { ...at, nextAttemptAt: T0 + 5000 }, { ...at, nextAttemptAt: T0 + 3000, owner: "bob" });
    same((await store.claim(query, take)).next, T0 + 5000, "the earliest of that owner");
    same((await store.claim({ now: T0, limit: 1 }, take)).next, T0 + 3000, "the earliest of all");
    const [due] = await insertAll(store, {}, {});
    const first = await store.claim(query, take);
    same([ids(first.records), first.next], [[due?.id], T0], "what the limit left over is due now");
    same((await store.claim(query, take)).next, T0 + 2000, "a lease's end counts as well");
    same((await store.claim({ ...query, ids: [due?.id ?? ""] }, take)).next, undefined, "but not for named ones");
    const none = { ...query, exceptOrigins: ["https://api.example.com"] };
    same((await store.claim(none, take)).next, undefined, "nor for excepted origins");
  }),

  on("next does not name what apply has just refused", async ({ store }) => {
    await insertAll(store, {}, {});
    same((await store.claim({ now: T0, limit: 9 }, keep)).next, undefined, "or its caller would turn in circles");
  }),

  on("an outcome that its hook has not had is due, and then no more", async ({ store }) => {
    const [record] = await insertAll(store, { nextAttemptAt: T0, delay: 0 });
    const id = record?.id ?? "";
    await store.update(id, (it) => ({ ...succeeded(it, T0), delivered: false, nextAttemptAt: T0 + 10, delay: 10 }));
    same(await claimIds(store, T0 + 9), [], "not before its time");
    same(await claimIds(store, T0 + 10), [id], "then it is");
    await store.update(id, (it) => ({ ...it, delivered: true, lease: undefined }));
    same(await claimIds(store, T0 + 1e9), [], "and never again once delivered");
  }),

  on("a blocked record is due at the end of its key's window", async ({ store }) => {
    const [record] = await insertAll(store, {});
    await store.update(record?.id ?? "", (it) => ({ ...blocked(it), sentAt: T0, uncertainSince: T0 }));
    const margin = 300_000;
    same(await claimIds(store, T0 + 86_400_000 - margin - 1), [], "not before");
    same(await claimIds(store, T0 + 86_400_000 - margin), [record?.id], "then someone has to give it up");
  }),

  on("what has ended is not claimed", async ({ store }) => {
    const [record] = await insertAll(store, {});
    await store.update(record?.id ?? "", (it) => ({ ...rejected(it, T0), delivered: true }));
    same(await claimIds(store, T0 + 1e9), [], "it has no time");
  }),

  on("relieve ends the leases of the dead, and of no one else", async ({ store }) => {
    const [a, b, c] = await insertAll(store, {}, {}, {});
    for (const [i, record] of [a, b, c].entries()) {
      const query = { now: T0, limit: 1, ids: [record?.id ?? ""] };
      await store.claim(query, (it) => leased(it, i < 2 ? "dead" : "alive", T0));
    }
    const asked: string[] = [];
    const isDead = (holder: string) => {
      asked.push(holder);
      return holder === "dead";
    };
    same(await store.relieve(isDead), 2, "two leases ended");
    ok(asked.includes("alive"), "every holder was asked for");
    same(await store.relieve((holder) => holder === "dead"), 0, "once");
    same(await claimIds(store, T0 + 1), ids([a, b] as OperationRecord[]), "and their records can be claimed at once");
    same((await store.get(c?.id ?? ""))?.lease?.holder, "alive", "the other keeps its lease");
  }),

  on("relieve makes due even what was claimed before its time", async ({ store }) => {
    const [record] = await insertAll(store, { nextAttemptAt: T0 + 60_000, delay: 60_000 });
    await store.claim({ now: T0, limit: 1, ids: [record?.id ?? ""] }, (it) => leased(it, "dead", T0));
    await store.relieve(() => true);
    same(await claimIds(store, T0 + 1), [record?.id], "an attempt of it may be under way");
  }),
];
