/** What a program passes to `postgresStore`, checked before anything is made. */

import { Buffer } from "node:buffer";
import { MisuseError } from "../../errors.js";
import type { PostgresJs, PostgresPool } from "./driver.js";
import type { PostgresListener } from "./listen.js";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /**
   * Where connections come from: a `Pool` of pg, or what `postgres()` of postgres.js answers with. It stays the
   * program's: `close()` leaves it open. One connection is enough; the store never holds more than one at a time.
   */
  readonly pool: PostgresPool | PostgresJs;
  /** The schema that the tables live in; it is made if need be. @defaultValue "samekey" */
  readonly schema?: string | undefined;
  /**
   * How to be told at once of what other processes did: a function that makes a `Client` of pg, or what `postgres()` of
   * postgres.js answers with. Its connection is used for that alone, and must lead to Postgres itself or to a pooler in
   * session mode. Without it others' work is looked for every two seconds.
   */
  readonly listen?: PostgresListener | undefined;
  /**
   * Whether to tell the others. Postgres lets transactions that notify commit one after the other, those of `save({ tx })`
   * among them; thousands a second had better not.
   *
   * @defaultValue whether `listen` is given
   */
  readonly notify?: boolean | undefined;
}

/** The same, with nothing left to doubt. */
export interface ResolvedPostgresOptions {
  readonly pool: PostgresPool | PostgresJs;
  readonly schema: string;
  readonly listen: PostgresListener | undefined;
  readonly notify: boolean;
}

const KNOWN = ["pool", "schema", "listen", "notify"];

/** @throws MisuseError `bad_option`, naming the option */
export function resolveOptions(options: PostgresStoreOptions): ResolvedPostgresOptions {
  if (typeof options !== "object" || options === null) bad("postgresStore takes an object of options");
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name)) bad(`\`${name}\` is not an option of postgresStore; known are ${KNOWN.join(", ")}`);
  }
  const { pool, schema = "samekey", listen, notify = listen !== undefined } = options;
  const { connect, reserve } = (pool ?? {}) as { connect?: unknown; reserve?: unknown };
  if (typeof connect !== "function" && typeof reserve !== "function") {
    bad("`pool` has neither `connect` (as a Pool of pg) nor `reserve` (as postgres.js)");
  }
  if (typeof schema !== "string" || schema === "" || schema.includes("\0") || Buffer.byteLength(schema) > 63) {
    bad(`\`schema\` is ${JSON.stringify(schema)}, expected the name of a schema, of at most 63 bytes`);
  }
  if (listen !== undefined && typeof listen !== "function") {
    bad("`listen` is neither a function that makes a client nor postgres.js");
  }
  if (typeof notify !== "boolean") bad("`notify` is neither true nor false");
  return { pool, schema, listen, notify };
}

function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}
