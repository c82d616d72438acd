import type { OperationRecord } from "../../core/record.js";
import { same } from "./check.js";
import type { ContractCase, ContractSubject } from "./harness.js";
import { on } from "./harness.js";
import { discarded, marked, newRecord, postponed, rejected, succeeded, T0, unresolved } from "./records.js";

/** Only stores that can tell how they committed are asked. */
function strict(
  name: string,
  body: (subject: ContractSubject, was: (what: string) => void) => Promise<void>,
): ContractCase {
  return on(
    name,
    async (subject) => {
      if (!subject.lastSync) return;
      await body(subject, (what) => same(subject.lastSync?.(), "strict", `${what} is strict`));
    },
    "F72 F81",
  );
}

/** What must be on the disk before anyone acts on it. A store may be stricter, never less strict. */
export const strictness: readonly ContractCase[] = [
  strict("an insert is strict", async ({ store }, was) => {
    await store.insert(newRecord());
    was("an insert");
  }),

  strict("the first mark of an attempt is strict, whether claimed or updated", async ({ store }, was) => {
    const a = (await store.insert(newRecord())).record;
    const b = (await store.insert(newRecord())).record;
    const c = (await store.insert(newRecord())).record;
    const mark = (it: OperationRecord) => marked(it, T0);
    await relax(store);
    await store.claim({ now: T0, limit: 1, ids: [a.id] }, mark);
    was("a claim that marks");
    await relax(store);
    await store.update(b.id, mark);
    was("an update that marks");
    await relax(store);
    await store.update(c.id, mark, c);
    was("an update with a base that marks");
  }),

  strict("every end but success is strict, and so is its resolution", async ({ store }, was) => {
    const ends: [string, (it: OperationRecord) => OperationRecord][] = [
      ["rejected", (it) => rejected(it, T0)],
      ["misused", (it) => ({ ...rejected(it, T0), state: "misused", code: "unprocessable" })],
      ["expired", (it) => ({ ...rejected(it, T0), state: "expired", code: "expired" })],
      ["canceled", (it) => ({ ...rejected(it, T0), state: "canceled", code: "canceled" })],
      ["unresolved", (it) => unresolved(it, T0)],
    ];
    for (const [what, end] of ends) {
      for (const withBase of [false, true]) {
        const { record } = await store.insert(newRecord());
        await relax(store);
        await store.update(record.id, end, withBase ? record : undefined);
        was(what);
      }
    }
    const { record } = await store.insert(newRecord());
    const dead = await store.update(record.id, (it) => unresolved(it, T0));
    await relax(store);
    await store.update(record.id, (it) => discarded(it, T0), dead);
    was("discarded");
  }),

  strict("a strict write beside relaxed ones makes all of them strict", async ({ store }, was) => {
    const a = (await store.insert(newRecord())).record;
    const b = (await store.insert(newRecord())).record;
    await relax(store);
    await Promise.all([
      store.update(a.id, (it) => postponed(it, T0, 100), a),
      store.update(b.id, (it) => rejected(it, T0), b),
    ]);
    was("the transaction they share");
  }),

  strict("a base that is out of date does not make a strict write relaxed", async ({ store }, was) => {
    const { record } = await store.insert(newRecord());
    const uncertain = await store.update(record.id, (it) => ({ ...it, sentAt: T0, uncertainSince: T0 }));
    await store.update(record.id, (it) => ({ ...it, uncertainSince: undefined, sentAt: undefined }), uncertain);
    await relax(store);
    // Seen from the base a mark adds no risk; seen from what stands there it does.
    await store.update(record.id, (it) => marked(it, T0), uncertain);
    was("the mark");
  }),
];

/** Ends with a write that may be relaxed, so that an answer of "strict" afterwards is about what came after. */
async function relax(store: ContractSubject["store"]): Promise<void> {
  const { record } = await store.insert(newRecord({ owner: "relaxed" }));
  await store.update(record.id, (it) => succeeded(it, T0), record);
}
