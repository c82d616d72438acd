/** A program that opens a store, records one operation and tells what became of it. */

import { sqliteStore } from "../../../src/stores/sqlite.js";
import { context, newRecord } from "../../support/records.js";

const store = sqliteStore({ path: process.argv[2] });
try {
  await store.open(context);
  await store.insert(newRecord());
  process.stdout.write(JSON.stringify({ counts: await store.counts() }));
  await store.close();
} catch (error) {
  const { code, message, cause } = error as Error & { code?: string };
  process.stdout.write(JSON.stringify({ code, message, cause: (cause as { code?: string } | undefined)?.code }));
}
