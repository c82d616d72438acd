import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { storeContract } from "../../../src/testing/store-contract.js";
import { context } from "../../support/records.js";

/** The plan of every statement that the contract makes the store use. */
async function plans(): Promise<Map<string, string>> {
  const directory = await mkdtemp(join(tmpdir(), "samekey-plans-"));
  const statements = new Set<string>();
  let cases = 0;
  const create = async () => {
    cases += 1;
    const path = join(directory, `${cases}.sqlite`);
    const open = async () => {
      const store = sqliteStore({ path, driver: listening(statements) });
      await store.open(context);
      return store;
    };
    const store = await open();
    return { store, reopen: () => store.close().then(open), second: open, destroy: () => store.close() };
  };
  for (const { run } of storeContract) await run({ create });
  const db = new Database(join(directory, "1.sqlite"));
  const found = [...statements].map((sql) => {
    const steps = db.prepare(`explain query plan ${sql}`).all(...Array(sql.split("?").length - 1).fill(0));
    return [sql, steps.map((step) => (step as { detail: string }).detail).join("\n")] as const;
  });
  db.close();
  await rm(directory, { recursive: true, force: true });
  return new Map(found);
}

const listening = (statements: Set<string>) => (path: string) => {
  const db = new Database(path);
  return {
    exec: (sql: string) => db.exec(sql),
    close: () => db.close(),
    prepare(sql: string) {
      if (/operations|requests|responses|counts/.test(sql)) statements.add(sql.replace(/\s+/g, " ").trim());
      return db.prepare<unknown[]>(sql);
    },
  };
};

test("no statement goes through a table, sorts one, or goes through what others own", async () => {
  const all = await plans();
  // What asks for no rows asks whether there are such columns.
  const bad = [...all].filter(
    ([sql, plan]) =>
      !sql.endsWith("limit 0") && /\bSCAN (o|operations|requests|responses|counts)\b|TEMP B-TREE/.test(plan),
  );
  expect(Object.fromEntries(bad)).toEqual({});
  const foreign = [...all].filter(([sql, plan]) => /[ .]owner = \?/.test(sql) && /_of_all\b/.test(plan));
  expect(Object.fromEntries(foreign)).toEqual({});
  const groups = [...all].filter(([sql]) => sql.startsWith("select origin, reader"));
  expect(groups).toHaveLength(2);
  for (const [, plan] of groups) expect(plan, "a group is leapt over").toContain("(origin,reader,due)>(?,?,?)");
  expect(all.size).toBeGreaterThan(30);
});
