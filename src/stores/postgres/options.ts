/** What a program passes to `postgresStore`, checked before anything is made. */

import { Buffer } from "node:buffer";
import { MisuseError } from "../../errors.js";
import type { PostgresJs, PostgresPool } from "./driver.js";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /**
   * Where connections come from: a `Pool` of pg, or what `postgres()` of postgres.js answers with. It stays the
   * program's: `close()` leaves it open. One connection is enough; the store never holds more than one at a time.
   */
  readonly pool: PostgresPool | PostgresJs;
  /** The schema that the tables live in; it is made if need be. @defaultValue "samekey" */
  readonly schema?: string | undefined;
}

/** The same, with nothing left to doubt. */
export interface ResolvedPostgresOptions {
  readonly pool: PostgresPool | PostgresJs;
  readonly schema: string;
}

/** @throws MisuseError `bad_option`, naming the option */
export function resolveOptions(options: PostgresStoreOptions): ResolvedPostgresOptions {
  if (typeof options !== "object" || options === null) bad("postgresStore takes an object of options");
  for (const name of Object.keys(options)) {
    if (name !== "pool" && name !== "schema") {
      bad(`\`${name}\` is not an option of postgresStore; known are pool, schema`);
    }
  }
  const { pool, schema = "samekey" } = options;
  const { connect, reserve } = (pool ?? {}) as { connect?: unknown; reserve?: unknown };
  if (typeof connect !== "function" && typeof reserve !== "function") {
    bad("`pool` has neither `connect` (as a Pool of pg) nor `reserve` (as postgres.js)");
  }
  if (typeof schema !== "string" || schema === "" || schema.includes("\0") || Buffer.byteLength(schema) > 63) {
    bad(`\`schema\` is ${JSON.stringify(schema)}, expected the name of a schema, of at most 63 bytes`);
  }
  return { pool, schema };
}

function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}
