import { SamekeyError } from "../errors.js";
import { causes } from "../postgres/fatal.js";

/** What an error says about the transaction it ended. ORMs wrap what the driver threw: causes are looked through. */

/** The five-character SQLSTATE that Postgres gave; undefined where the error is not the database's. */
export function sqlState(error: unknown): string | undefined {
  for (const one of causes(error)) {
    const { code } = one as { code?: unknown };
    // EPIPE, and no other of Node's codes, has the same form.
    if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && code !== "EPIPE") return code;
  }
  return undefined;
}

/** invalid_sql_statement_name: it was not prepared on this connection, or is no more. */
export const unknownStatement = "26000";

/** Whether Postgres itself said that the connection or the server goes: shut down, cut off, out of connections. */
export function isConnectionState(error: unknown): boolean {
  return /^(08|57P|53|25P03|25P04|58)/.test(sqlState(error) ?? "");
}

/**
 * Whether what a driver threw says nothing about the statement: the connection was lost or refused, or the database is
 * starting, stopping or out of connections. Drivers have no common mark for it; what is left are the program's own errors.
 */
export function isConnectionFailure(error: unknown): boolean {
  if (sqlState(error) !== undefined) return isConnectionState(error);
  return ![SamekeyError, TypeError, RangeError, ReferenceError, SyntaxError].some((type) => error instanceof type);
}

/** Whether the transaction lost against another one and may do better when it is run again. */
export function isContention(error: unknown): boolean {
  const state = sqlState(error);
  return state === "40001" || state === "40P01";
}

/**
 * The same error, without what drivers attach to it besides its message: rows and parameters, which are nobody's to read
 * in a log.
 */
export function withoutValues<E>(error: E): E {
  for (const one of causes(error)) {
    for (const name of ["detail", "where", "internalQuery", "query", "parameters", "args"]) {
      if (name in one) Reflect.set(one, name, undefined);
    }
  }
  return error;
}
