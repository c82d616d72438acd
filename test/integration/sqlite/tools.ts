import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { StoreError } from "../../../src/errors.js";
import type { Store } from "../../../src/store.js";
import type { SqliteStoreOptions } from "../../../src/stores/sqlite.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { context } from "../../support/records.js";

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** To be done after the test, last first. */
export function later(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

/** A directory of the test's own. */
export function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "samekey-sqlite-"));
  later(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** An open store, closed after the test. */
export async function opened(options: SqliteStoreOptions): Promise<Store> {
  const store = sqliteStore(options);
  later(() => store.close());
  await store.open(context);
  return store;
}

/** The `StoreError` that opening ends with. */
export async function refusal(options: SqliteStoreOptions): Promise<StoreError> {
  const error = await opened(options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
}

/** Everything in a directory, by name, as digests. */
export function contents(path: string): Record<string, string> {
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(path, name)))
      .digest("hex");
  return Object.fromEntries(readdirSync(path).map((name) => [name, digest(name)]));
}
