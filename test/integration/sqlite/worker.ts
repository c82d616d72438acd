/**
 * One of several processes on one file: records so many operations, then takes and finishes whatever is due until
 * nothing is left. Tells each step as a line: only what has been acknowledged is told.
 */

import { writeSync } from "node:fs";
import type { OperationRecord } from "../../../src/core/record.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { clock, leased, newRecord, succeeded } from "../../support/records.js";

const [path, name = "", count = "0"] = process.argv.slice(2);
const tell = (...words: unknown[]): void => void writeSync(1, `${words.join(" ")}\n`);

const store = sqliteStore({ path });
await store.open({ name, clock });

const record = (i: number) => newRecord({ id: `${name}-${i}`, key: `${name}-${i}`, nextAttemptAt: 0, delay: 0 });
const inserting = Array.from({ length: Number(count) }, async (_, i) => {
  await store.insert(record(i));
  tell("inserted", `${name}-${i}`);
  // Counted together with everyone else's: an update lost here is an increment lost.
  if (i % 10 === 0) await store.update("shared", (it) => ({ ...it, attempts: it.attempts + 1 }));
});
await Promise.all(inserting);

for (;;) {
  const now = Date.now();
  const query = { now, limit: 16, owner: "ada" };
  const { records } = await store.claim(query, (it) => leased(it, name, now, 60_000));
  if (records.length === 0) break;
  for (const { id } of records) tell("claimed", id);
  await Promise.all(records.map((it: OperationRecord) => store.update(it.id, (now) => succeeded(now, Date.now()), it)));
  for (const { id } of records) tell("settled", id);
}
await store.close();
tell("done");
