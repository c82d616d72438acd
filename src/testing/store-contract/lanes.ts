import type { NewRecord, OperationRecord } from "../../core/record.js";
import type { Store } from "../../store.js";
import { ids, same } from "./check.js";
import type { ContractCase } from "./harness.js";
import { on } from "./harness.js";
import { blocked, discarded, leased, newRecord, rejected, succeeded, T0, unresolved } from "./records.js";

type Three = [OperationRecord, OperationRecord, OperationRecord];

async function threeInLane(store: Store, change: Partial<NewRecord> = {}): Promise<Three> {
  const made = await Promise.all([1, 2, 3].map(() => store.insert(newRecord({ lane: "account-1", ...change }))));
  return made.map(({ record }) => record) as Three;
}

const claim = async (store: Store, query: object = {}): Promise<string[]> =>
  ids((await store.claim({ now: T0, limit: 100, ...query }, (it) => leased(it, "tab-1", T0))).records);

const headId = async (store: Store): Promise<string | undefined> => (await store.head("ada", "account-1"))?.id;

/** One after the other. */
export const lanes: readonly ContractCase[] = [
  on("only the first of a lane can be claimed, in the order of insertion", async ({ store }) => {
    const [a, b, c] = await threeInLane(store);
    same([a.parked, b.parked, c.parked], [undefined, true, true], "the others are parked");
    same(await claim(store), [a.id], "the first");
    same(await claim(store, { ids: [b.id, c.id] }), [], "the others not even by name");
    for (const [front, next] of [[a, b] as const, [b, c] as const]) {
      same(await headId(store), front.id, "the head");
      await store.update(front.id, (it) => succeeded(it, T0));
      same(await claim(store), [next.id], "its end lets the next one go");
    }
    await store.update(c.id, (it) => succeeded(it, T0));
    same(await store.head("ada", "account-1"), undefined, "an empty lane has no head");
    same((await store.insert(newRecord({ lane: "account-1" }))).record.parked, undefined, "and lets the next one in");
  }),

  on("un-parking is a write of its own", async ({ store }) => {
    const [a, b] = await threeInLane(store);
    await store.update(a.id, (it) => succeeded(it, T0));
    const { parked: _, ...rest } = b;
    same(await store.get(b.id), { ...rest, rev: b.rev + 1 }, "nothing else of the record changed");
  }),

  on("a settle and the claim after it in one tick see each other", async ({ store }) => {
    const [a, b] = await threeInLane(store);
    await claim(store);
    const [, claimed] = await Promise.all([store.update(a.id, (it) => succeeded(it, T0)), claim(store)]);
    same(claimed, [b.id], "the next of the lane is claimed with it");
  }),

  on("one that joins an earlier operation takes no place in its lane", async ({ store }) => {
    const { record: earlier } = await store.insert(newRecord({ intent: "order-1" }));
    const made = await Promise.all(
      [{ intent: "order-1" }, {}, {}].map((change) => store.insert(newRecord({ lane: "account-1", ...change }))),
    );
    const [joined, b, c] = made.map(({ record }) => record) as Three;
    same([joined.id, b.parked, c.parked], [earlier.id, undefined, true], "the next one stands in front");
    same(await store.get(b.id), b, "as it was told");
    same(await claim(store), [earlier.id, b.id], "and can be claimed");
  }),

  on("lanes of other names and owners are other lanes", async ({ store }) => {
    await threeInLane(store);
    for (const other of [{ lane: "account-2" }, { owner: "bob" }]) {
      const { record } = await store.insert(newRecord({ lane: "account-1", ...other }));
      same(record.parked, undefined, `not behind one of another ${Object.keys(other)}`);
    }
    same((await store.insert(newRecord())).record.parked, undefined, "nor is one without a lane");
  }),

  on("a lane stops behind a blocked or unresolved head, and goes on once that is discarded", async ({ store }) => {
    const [a, b] = await threeInLane(store);
    await store.update(a.id, blocked);
    same(await claim(store), [], "behind a blocked one");
    same(await headId(store), a.id, "which is the head");
    await store.update(a.id, (it) => unresolved(it, T0));
    same(await claim(store), [a.id], "behind an unresolved one, whose hook is due");
    await store.update(a.id, (it) => discarded({ ...it, delivered: true, lease: undefined }, T0));
    same(await claim(store), [b.id], "discarded, it lets the next one go");
  }),

  on("a parked one can end without disturbing the order", async ({ store }) => {
    const [a, b, c] = await threeInLane(store);
    const canceled = await store.update(b.id, (it) => ({ ...rejected(it, T0), state: "canceled", code: "canceled" }));
    same(canceled?.parked, undefined, "what has ended stands in no lane");
    same(await claim(store), [a.id, b.id], "so its hook is due");
    await store.update(a.id, (it) => succeeded(it, T0));
    same(await headId(store), c.id, "and the lane goes on with the one after it");
  }),

  on("a removed head lets the next one go", async ({ store }) => {
    const [a, b] = await threeInLane(store);
    await store.update(a.id, () => undefined);
    same(await claim(store), [b.id], "the next");
  }),

  on("parked cannot be set or cleared from outside", async ({ store }) => {
    const [a, b] = await threeInLane(store);
    const pushed = await store.update(b.id, (it) => ({ ...it, parked: undefined, attempts: 1 }));
    same(pushed?.parked, true, "it stays parked");
    const held = await store.update(a.id, (it) => ({ ...it, parked: true, attempts: 1 }));
    same(held?.parked, undefined, "and the head stays free");
    const { record } = await store.insert(newRecord({ parked: true }));
    same(record.parked, undefined, "nor does an insert decide it");
  }),

  on("one that changes its owner leaves its lane and goes behind in the new one", async ({ store }) => {
    const [a, b] = await threeInLane(store);
    const theirs = await threeInLane(store, { owner: "bob" });
    const adopted = await store.update(a.id, (it) => ({ ...it, owner: "bob" }));
    same(adopted?.parked, true, "behind bob's");
    same(await headId(store), b.id, "ada's lane goes on");
    same((await store.head("bob", "account-1"))?.id, theirs[0].id, "bob's head stays");
    await store.update(theirs[0].id, (it) => succeeded(it, T0));
    same((await store.head("bob", "account-1"))?.id, a.id, "then the lowest seq has its turn");
  }),

  on("counts and pages include the parked", async ({ store }) => {
    const [a, b, c] = await threeInLane(store);
    same(await store.counts("ada"), { pending: 3 }, "they are pending");
    same(ids(await store.page({ lane: "account-1" })), [a.id, b.id, c.id], "and listed in order");
  }),
];
