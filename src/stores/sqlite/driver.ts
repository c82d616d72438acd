/** The little that the store needs of a SQLite binding, and how one is found. */

import { createRequire } from "node:module";
import process from "node:process";
import { StoreError } from "../../errors.js";

/** A value that SQLite can hold. */
export type SqliteValue = string | number | null | Uint8Array;

/** A row, by column. */
export type SqliteRow = Record<string, SqliteValue>;

/** A prepared statement. `Statement` of better-sqlite3 and `StatementSync` of `node:sqlite` both are one. */
export interface SqliteStatement {
  // Called with `SqliteValue`s only. Typed like this, both bindings' own types fit.
  run(...values: unknown[]): { readonly changes: number | bigint };
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

/** An open database. `Database` of better-sqlite3 and `DatabaseSync` of `node:sqlite` both are one. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  close(): unknown;
}

/** Opens the file at `path`, which exists. */
export type SqliteDriver = (path: string) => SqliteDatabase;

/** A driver by name, or one of your own. */
export type SqliteDriverOption = "better-sqlite3" | "node:sqlite" | SqliteDriver;

type Constructor = new (path: string) => SqliteDatabase;

/** The driver that was asked for, else better-sqlite3, else what Node itself carries. */
export async function loadDriver(option: SqliteDriverOption | undefined): Promise<SqliteDriver> {
  if (typeof option === "function") return option;
  if (option === "better-sqlite3") return loadAddon();
  if (option === "node:sqlite") return loadBuiltIn() ?? noBuiltIn();
  try {
    return await loadAddon();
  } catch (error) {
    const builtIn = loadBuiltIn();
    if (builtIn) return builtIn;
    throw error;
  }
}

async function loadAddon(): Promise<SqliteDriver> {
  refuseUnsuited(addonVersion(), process.versions.node);
  try {
    const { default: Database } = (await import("better-sqlite3")) as unknown as { default: Constructor };
    // The native half is loaded by the first database, not by the import.
    new Database(":memory:").close();
    return (path) => new Database(path);
  } catch (cause) {
    const detail =
      (cause as { code?: string }).code === "ERR_MODULE_NOT_FOUND"
        ? `no SQLite driver is installed. Run \`npm install better-sqlite3@12\`, or use Node 22.13 or later, which carries \`node:sqlite\` (this is Node ${process.versions.node})`
        : `better-sqlite3 could not be loaded in Node ${process.versions.node} (ABI ${process.versions.modules}). Run \`npm rebuild better-sqlite3\` with the Node or Electron that runs this program, or pass another \`driver\``;
    throw new StoreError("unavailable", { detail, cause });
  }
}

/** Version 13 does not throw on a Node that is too old for it: it takes the process down. So it is not even loaded. */
function refuseUnsuited(version: string | undefined, node: string): void {
  const [major = 0] = numbers(version ?? "0");
  const [nodeMajor = 0, nodeMinor = 0] = numbers(node);
  if (major < 13 || nodeMajor > 22 || (nodeMajor === 22 && nodeMinor >= 14)) return;
  const detail = `better-sqlite3 ${version} needs Node 22.14 or later and crashes Node ${node}. Run \`npm install better-sqlite3@12\``;
  throw new StoreError("unavailable", { detail });
}

const numbers = (version: string): number[] => version.split(".").map(Number);

function addonVersion(): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)("better-sqlite3/package.json") as { version?: string };
    return version;
  } catch {
    return undefined;
  }
}

function loadBuiltIn(): SqliteDriver | undefined {
  const builtIn = process.getBuiltinModule?.("node:sqlite" as "node:fs") as unknown as
    | { DatabaseSync: Constructor }
    | undefined;
  return builtIn && ((path) => new builtIn.DatabaseSync(path));
}

function noBuiltIn(): never {
  const detail = `Node ${process.versions.node} carries no node:sqlite. Use Node 22.13 or later, or \`npm install better-sqlite3@12\``;
  throw new StoreError("unavailable", { detail });
}
