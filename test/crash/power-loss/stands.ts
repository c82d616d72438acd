import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { OperationRecord } from "../../../src/core/record.js";

/** What SQLite finds in a file and its log, by key. Reads a copy: to open it is to recover it. */
export function readRecords(path: string): Map<string, OperationRecord> {
  const records = new Map<string, OperationRecord>();
  if (!existsSync(path)) return records;
  const directory = mkdtempSync(join(tmpdir(), "samekey-copy-"));
  const copy = join(directory, "copy.sqlite");
  copyFileSync(path, copy);
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
  const database = new Database(copy);
  try {
    if (database.pragma("integrity_check", { simple: true }) !== "ok") throw new Error("the file is corrupt");
    const isMade = database.prepare("select 1 from sqlite_schema where name = 'operations'").get() !== undefined;
    const rows = isMade ? database.prepare("select record from operations").all() : [];
    for (const { record } of rows as { record: string }[]) {
      const parsed = JSON.parse(record) as OperationRecord;
      records.set(parsed.key, parsed);
    }
  } finally {
    database.close();
    rmSync(directory, { recursive: true });
  }
  return records;
}
