import { failsAsStore, ids, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import { blocked, discarded, newRecord, rejected, succeeded, T0, unresolved } from "./records.js";

/** Looking. */
export const reading: readonly ContractCase[] = [
  on("get and find of what is not there give undefined", async ({ store }) => {
    await store.insert(newRecord({ intent: "order-1" }));
    same(await store.get("nobody"), undefined, "get");
    for (const [owner, name, intent] of [
      ["bob", "transfer", "order-1"],
      ["ada", "refund", "order-1"],
      ["ada", "transfer", "order-2"],
    ] as const) {
      same(await store.find(owner, name, intent), undefined, "find");
    }
    same(await store.head("ada", "account-1"), undefined, "head");
  }),

  on("find gives the latest of an intent, held or not", async ({ store }) => {
    const first = (await store.insert(newRecord({ intent: "order-1" }))).record;
    same((await store.find("ada", "transfer", "order-1"))?.id, first.id, "the holder");
    await store.update(first.id, (it) => rejected(it, T0));
    same((await store.find("ada", "transfer", "order-1"))?.state, "rejected", "or the one that let it go");
    const second = (await store.insert(newRecord({ intent: "order-1" }))).record;
    same((await store.find("ada", "transfer", "order-1"))?.id, second.id, "the later of two");
    await store.update(second.id, (it) => rejected(it, T0));
    same((await store.find("ada", "transfer", "order-1"))?.id, second.id, "also when neither holds it");
    await store.update(second.id, () => undefined);
    same((await store.find("ada", "transfer", "order-1"))?.id, first.id, "and the earlier when that is removed");
  }),

  on("page goes through everything in order, in pages", async ({ store }) => {
    const made = await Promise.all(Array.from({ length: 23 }, () => store.insert(newRecord())));
    const seen: string[] = [];
    let after: number | undefined;
    for (;;) {
      const page = await store.page({ limit: 10, after });
      seen.push(...ids(page));
      if (page.length === 0) break;
      after = page.at(-1)?.seq;
    }
    same(seen, ids(made.map(({ record }) => record)), "each once, in seq order");
  }),

  on("page finds each among many that it leaves out, wherever it stands", async ({ store }) => {
    const names = Array.from({ length: 50 }, (_, i) => `operation-${i}`);
    const made = await Promise.all(names.map((name) => store.insert(newRecord({ name, owner: name, lane: name }))));
    for (const [i, name] of names.entries()) {
      const record = made[i]?.record;
      for (const filter of [{ name }, { owner: name }, { lane: name }]) {
        same(ids(await store.page({ ...filter, limit: 1 })), [record?.id], `by ${Object.keys(filter)}`);
      }
      same(ids(await store.page({ name, limit: 1, after: record?.seq })), [], "and nothing after it");
    }
  }),

  on("page has a hundred records unless told otherwise", async ({ store }) => {
    await Promise.all(Array.from({ length: 101 }, () => store.insert(newRecord())));
    same((await store.page({})).length, 100, "by default");
    same((await store.page({ limit: 1000 })).length, 101, "or as told");
    same((await store.page({ limit: 0 })).length, 0, "even none");
  }),

  on("page narrows by each condition, and by all of them together", async ({ store }) => {
    const insert = async (change: object) => (await store.insert(newRecord(change))).record;
    const a = await insert({ intent: "order-1", lane: "l-1" });
    const b = await insert({ owner: "bob", intent: "order-1" });
    const c = await insert({ name: "refund", intent: "order-1", lane: "l-2" });
    const d = await insert({ intent: "order-2" });
    await store.update(b.id, (it) => succeeded(it, T0 + 10));
    await store.update(c.id, (it) => succeeded(it, T0 + 20));
    await store.update(d.id, blocked);
    const expected: [string, Parameters<typeof store.page>[0], string[]][] = [
      ["owner", { owner: "ada" }, [a.id, c.id, d.id]],
      ["name", { name: "refund" }, [c.id]],
      ["intent", { intent: "order-1" }, [a.id, b.id, c.id]],
      ["intent in full", { owner: "ada", name: "transfer", intent: "order-1" }, [a.id]],
      ["lane", { lane: "l-1" }, [a.id]],
      ["lane that is over", { lane: "l-2", owner: "ada" }, [c.id]],
      ["states", { states: ["blocked", "succeeded"] }, [b.id, c.id, d.id]],
      ["no state", { states: [] }, []],
      ["owner and state", { owner: "ada", states: ["succeeded"] }, [c.id]],
      ["after", { after: a.seq, intent: "order-1" }, [b.id, c.id]],
      ["limit", { limit: 1, states: ["succeeded"] }, [b.id]],
    ];
    for (const [what, filter, found] of expected) same(ids(await store.page(filter)), found, `by ${what}`);
  }),

  on("prunable tells what has been over for longest, whole or bare", async ({ store }) => {
    const make = async () => (await store.insert(newRecord())).record;
    const [a, b, c, open, owed, lost] = [
      await make(),
      await make(),
      await make(),
      await make(),
      await make(),
      await make(),
    ];
    await store.update(b.id, (it) => succeeded(it, T0 + 10));
    await store.update(a.id, (it) => succeeded(it, T0 + 20));
    await store.update(c.id, (it) => succeeded(it, T0 + 30));
    await store.update(owed.id, (it) => ({ ...succeeded(it, T0), delivered: false }));
    await store.update(lost.id, (it) => ({ ...unresolved(it, T0), delivered: true }));
    const look = async (settledBefore: number, bare = false, limit = 10) =>
      ids(await store.prunable({ settledBefore, bare, limit }));
    same(await look(T0 + 20), [b.id], "before, not at, the time");
    same(
      await look(T0 + 31),
      [b.id, a.id, c.id],
      "the oldest first, and nothing that is open, unresolved or undelivered",
    );
    same(await look(T0 + 31, false, 2), [b.id, a.id], "no more than asked for");
    same(await look(T0 + 31, true), [], "none of them bare");
    const [first] = await store.prunable({ settledBefore: T0 + 31, bare: false, limit: 1 });
    await store.update(open.id, (it) => succeeded(it, T0 + 10));
    const behind = await store.prunable({ settledBefore: T0 + 31, bare: false, after: first, limit: 2 });
    same(ids(behind), [open.id, a.id], "behind one, those of the same time included");
    await store.update(open.id, () => undefined);
    await store.update(a.id, (it) => ({ ...it, hash: "sha256:00" }));
    await store.update(b.id, () => undefined);
    await store.update(lost.id, (it) => discarded(it, T0 + 5));
    same(await look(T0 + 31), [lost.id, c.id], "nor what is gone or bare, but what was discarded");
    same(await look(T0 + 31, true), [a.id], "which is told apart");
    same(await look(T0 + 20, true), [], "and by its time as well");
  }),

  on("counts follow every write, by owner", async ({ store }) => {
    same(await store.counts(), {}, "empty at first");
    const a = (await store.insert(newRecord())).record;
    await store.insert(newRecord());
    const b = (await store.insert(newRecord({ owner: "bob" }))).record;
    same(await store.counts(), { pending: 3 }, "of all");
    same(await store.counts("ada"), { pending: 2 }, "of one");
    same(await store.counts("eve"), {}, "of none");
    await store.update(a.id, (it) => succeeded(it, T0));
    await store.update(b.id, (it) => ({ ...it, owner: "ada" }));
    same(await store.counts("ada"), { pending: 2, succeeded: 1 }, "after a settle and a move");
    same(await store.counts("bob"), {}, "who has none left");
    await store.update(a.id, () => undefined);
    same(await store.counts(), { pending: 2 }, "after a removal");
  }),

  on("counts in the same tick include what came before", async ({ store }) => {
    const [, counts] = await Promise.all([store.insert(newRecord()), store.counts()]);
    same(counts, { pending: 1 }, "the insert");
  }),

  on(
    "a read that fails does not read as none",
    async (subject) => {
      if (!subject.breakReads) return;
      const { store } = subject;
      const { record } = await store.insert(newRecord({ intent: "order-1", lane: "l" }));
      await subject.breakReads();
      await failsAsStore(store.get(record.id), "get");
      await failsAsStore(store.find("ada", "transfer", "order-1"), "find");
      await failsAsStore(store.head("ada", "l"), "head");
      await failsAsStore(store.page({}), "page");
      await failsAsStore(
        store.claim({ now: T0, limit: 1 }, (it) => it),
        "claim",
      );
      await failsAsStore(store.insert(newRecord({ intent: "order-1" })), "insert");
      await failsAsStore(
        store.update(record.id, (it) => it),
        "update",
      );
    },
    "F62",
  ),
];
