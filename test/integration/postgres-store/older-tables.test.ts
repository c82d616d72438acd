/** Tables that were made before there was a column `reader`. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readerOf } from "../../../src/core/record.js";
import type { Store } from "../../../src/store.js";
import { postgresStore } from "../../../src/stores/postgres.js";
import { storeContract } from "../../../src/testing/store-contract.js";
import { clock, leased, newRecord, T0 } from "../../support/records.js";
import { world } from "./fixture.js";

const at = world();
const bank = { wire: { ...newRecord().wire, profile: "bank" } };
const exceptReaders: ReadonlySet<string> = new Set([readerOf({ ...newRecord(), ...bank })]);

/** The statements of the page, for this schema. */
function upgradeOf(schema: string): string[] {
  const page = readFileSync("docs/postgres-store.md", "utf8");
  const [sql = ""] = page.split("## Older tables")[1]?.split("```sql\n")[1]?.split("```") ?? [];
  return sql.replaceAll("samekey.", `${schema}.`).split(/;\n/).filter(Boolean);
}

async function open(schema: string, name = "older"): Promise<Store> {
  const store = postgresStore({ pool: at.pool, schema });
  await store.open({ name, clock });
  return store;
}

async function olderTables(schema: string): Promise<void> {
  await (await open(schema)).close();
  await at.pool.query(`alter table ${schema}.operations drop column reader`);
  await at.pool.query(`create index operations_due on ${schema}.operations (sdk, owner, origin, due, seq) where due is not null;
    create index operations_due_of_all on ${schema}.operations (sdk, origin, due, seq) where due is not null`);
}

const claimed = async (store: Store) => {
  const query = { now: T0, limit: 9, exceptReaders };
  const take = (it: Parameters<typeof readerOf>[0] & Parameters<typeof leased>[0]) =>
    it.wire.profile === undefined ? leased(it, "holder", T0) : it;
  return (await store.claim(query, take)).records.map(({ id }) => id);
};

test("are used as they are: every case of the contract that does not ask for leaps holds", async () => {
  await olderTables("contract_older");
  let n = 0;
  const create = async () => {
    n += 1;
    const name = `case ${n}`;
    const handles: Store[] = [];
    const again = async () => {
      handles.push(await open("contract_older", name));
      return handles.at(-1) as Store;
    };
    const destroy = async () => {
      await Promise.all(handles.splice(0).map((store) => store.close()));
    };
    return { store: await again(), second: again, reopen: () => destroy().then(again), destroy };
  };
  const leaps = ["claim leaves alone what only others can read", "what apply excepts is left alone at once"];
  for (const { name, run } of storeContract) if (!leaps.includes(name)) await run({ create });
  expect(n).toBeGreaterThan(50);
}, 60_000);

test("get the column by the statements of the documentation, and have claims leap from then on", async () => {
  await olderTables("upgraded");
  const store = await open("upgraded");
  const [old, plain] = [await store.insert(newRecord(bank)), await store.insert(newRecord())];
  expect(await claimed(store)).toEqual([plain.record.id]);
  for (const sql of upgradeOf("upgraded")) await at.pool.query(sql);
  // One that is still running has not seen the column yet.
  const [beside, mine] = [await store.insert(newRecord(bank)), await store.insert(newRecord())];
  expect(await claimed(store)).toEqual([mine.record.id]);
  await store.close();
  const later = await open("upgraded");
  const fresh = await later.insert(newRecord(bank));
  const looked: string[] = [];
  await later.claim({ now: T0, limit: 9, exceptReaders }, (it) => {
    looked.push(it.id);
    return it;
  });
  expect(looked.sort()).toEqual([old.record.id, beside.record.id].sort());
  expect(looked).not.toContain(fresh.record.id);
  await later.close();
});
