/** What an error of SQLite means. Two bindings, two spellings; by code, never by message. */

import { StoreError } from "../../errors.js";

/** Primary result codes of https://sqlite.org/rescode.html that matter here. */
const PRIMARY: Readonly<Record<number, string>> = {
  5: "BUSY",
  6: "LOCKED",
  8: "READONLY",
  10: "IOERR",
  11: "CORRUPT",
  13: "FULL",
  14: "CANTOPEN",
  19: "CONSTRAINT",
  26: "NOTADB",
};

interface SqliteError {
  /** better-sqlite3: `SQLITE_` and the extended code's name. `node:sqlite`: `ERR_SQLITE_ERROR`. */
  readonly code?: unknown;
  /** `node:sqlite`: the extended code. */
  readonly errcode?: unknown;
}

/** The primary code's name without its prefix, or `undefined` if this is no error of SQLite's. */
export function sqliteCode(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as SqliteError;
  if (typeof code !== "string") return undefined;
  if (code === "ERR_SQLITE_ERROR") return PRIMARY[Number(errcode) & 0xff] ?? "ERROR";
  return code.startsWith("SQLITE_") ? code.split("_")[1] : undefined;
}

/** Someone else writes. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === "BUSY" || code === "LOCKED";
}

/** A value that must be unique is taken. */
export function isTaken(error: unknown): boolean {
  const { code, errcode } = error as SqliteError;
  return code === "SQLITE_CONSTRAINT_UNIQUE" || (code === "ERR_SQLITE_ERROR" && errcode === 2067);
}

/** What the caller of a verb gets. Errors that are not SQLite's are somebody's own and pass through. */
export function asStoreError(cause: unknown, path: string): unknown {
  const code = sqliteCode(cause);
  if (code === undefined) return cause;
  const detail = `${path}: ${(cause as Error).message}`;
  if (code === "FULL") return new StoreError("store_full", { detail, cause });
  if (code === "CORRUPT" || code === "NOTADB") return new StoreError("corrupt", { detail, cause });
  if (code === "BUSY" || code === "LOCKED") return new StoreError("stalled", { detail, cause });
  return new StoreError("unavailable", { detail, cause });
}

/** What a call into the binding threw: what is not SQLite's own error is the store's failure all the same. */
export function driverError(cause: unknown): unknown {
  if (sqliteCode(cause) !== undefined) return cause;
  return new StoreError("unavailable", { detail: (cause as Error).message, cause });
}
