/**
 * What samekey needs of a Postgres driver, and no more. A `pg` Pool satisfies {@link Database} as it is; no driver is
 * imported.
 */

/** The part of a query's result that is read. */
export interface QueryResult {
  // biome-ignore lint/suspicious/noExplicitAny: drivers type their rows as any; anything narrower would refuse them
  readonly rows: any[];
  /** The command tag without its counts: `COMMIT`, or `ROLLBACK` where a failed transaction was asked to commit. */
  readonly command: string;
}

/** One connection, held for the length of one transaction. */
export interface Connection {
  query(text: string, values?: unknown[]): Promise<QueryResult>;
  /** Gives the connection back; with `true` it is closed instead, and never used again. */
  release(destroy?: boolean): void;
  /** Drivers that emit `error` when an idle connection is cut (pg) would otherwise end the process. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
}

/** Where connections come from: a pool. `C` is the driver's own connection type, which handlers receive. */
export interface Database<C extends Connection = Connection> {
  connect(): Promise<C>;
}

/** The connection type of a pool, found among the overloads of its `connect`. */
export type ConnectionOf<D extends Database> = D["connect"] extends {
  (): Promise<infer C extends Connection>;
  (...args: never[]): unknown;
}
  ? C
  : Connection;

/** The five-character SQLSTATE that Postgres gave, or undefined: then the connection failed, not the statement. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * Whether the failure says nothing about the statement: the connection was lost or refused, or the database is
 * starting, stopping or out of connections.
 */
export function isConnectionFailure(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || /^(08|57P|53|25P03|25P04|58)/.test(state);
}
