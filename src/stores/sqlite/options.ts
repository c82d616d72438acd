/** What a program passes to `sqliteStore`, checked before anything is made. */

import { fileURLToPath } from "node:url";
import { MisuseError } from "../../errors.js";
import type { SqliteDriverOption } from "./driver.js";

/** Options of {@link sqliteStore}. */
export interface SqliteStoreOptions {
  /**
   * The file. Its directory is made if need be.
   *
   * @defaultValue the sdk's name with `.sqlite`, in `$SAMEKEY_DIR` or the platform's state directory:
   * `$XDG_STATE_HOME/samekey` (`~/.local/state/samekey`), `~/Library/Application Support/samekey`,
   * `%LOCALAPPDATA%\samekey`
   */
  readonly path?: string | URL | undefined;
  /** @defaultValue better-sqlite3 if it can be loaded, else `node:sqlite` */
  readonly driver?: SqliteDriverOption | undefined;
}

/** The same, with nothing left to doubt. */
export interface ResolvedSqliteOptions {
  readonly path: string | undefined;
  readonly driver: SqliteDriverOption | undefined;
}

/** @throws MisuseError `bad_option`, naming the option */
export function resolveOptions(options: SqliteStoreOptions): ResolvedSqliteOptions {
  if (typeof options !== "object" || options === null) bad("sqliteStore takes an object of options");
  for (const name of Object.keys(options)) {
    if (name !== "path" && name !== "driver") {
      bad(`\`${name}\` is not an option of sqliteStore; known are driver, path`);
    }
  }
  const { path, driver } = options;
  const isDriver = driver === "better-sqlite3" || driver === "node:sqlite" || typeof driver === "function";
  if (driver !== undefined && !isDriver) {
    bad(`\`driver\` is ${JSON.stringify(driver)}, expected "better-sqlite3", "node:sqlite" or a function`);
  }
  return { path: pathOf(path), driver };
}

function pathOf(path: string | URL | undefined): string | undefined {
  if (path === undefined || typeof path === "string") return path;
  if (path instanceof URL && path.protocol === "file:") return fileURLToPath(path);
  return bad(`\`path\` is ${JSON.stringify(path)}, expected a path or a file: URL`);
}

function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}
