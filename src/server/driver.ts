/**
 * What samekey needs of whatever reaches Postgres, and no more. A `pg` Pool and a `postgres` Sql fit as they are; a query
 * builder or ORM says in two functions how it runs a transaction. No driver is imported.
 */

/** The part of a query's result that is read. */
export interface QueryResult {
  // biome-ignore lint/suspicious/noExplicitAny: drivers type their rows as any; anything narrower would refuse them
  readonly rows: any[];
  /** The command tag without its counts: `COMMIT`, or `ROLLBACK` where a failed transaction was asked to commit. */
  readonly command: string;
}

/** A connection as `pg` lends it. */
export interface Connection {
  query(text: string, values?: unknown[]): Promise<QueryResult>;
  /** Gives the connection back; with `true` it is closed instead, and never used again. */
  release(destroy?: boolean): void;
  /** Whether a statement may be sent before the one ahead of it is answered. */
  readonly pipeline?: boolean;
  /** Drivers that emit `error` when an idle connection is cut (pg) would otherwise end the process. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
}

/** A pool of connections, as `pg` has it. `C` is the connection that handlers receive. */
export interface Database<C extends Connection = Connection> {
  connect(): Promise<C>;
}

/** A connection as `postgres` reserves it. */
export interface ReservedConnection {
  // biome-ignore lint/suspicious/noExplicitAny: its rows carry the command tag, and are typed by the caller
  unsafe(text: string, values?: any[], options?: { prepare?: boolean }): PromiseLike<any>;
  release(): void;
}

/** What reserves connections, as a `postgres` Sql does. `C` is the connection that handlers receive. */
export interface ReservingDatabase<C extends ReservedConnection = ReservedConnection> {
  reserve(): Promise<C>;
}

/**
 * A query builder or ORM that runs its transactions itself. Handlers receive its own transaction, `Tx`; annotate `tx` in
 * `query` and it is inferred.
 *
 * ```ts
 * const db = {
 *   transaction: (work) => kysely.transaction().execute(work),
 *   query: (tx: Transaction<Tables>, text, values) => tx.executeQuery(CompiledQuery.raw(text, values)),
 * };
 * ```
 */
export interface TransactionRunner<Tx> {
  /**
   * Runs `work` once, in a transaction at READ COMMITTED: commits when it resolves and rolls back when it rejects, and
   * settles, the same way, only when that is done.
   */
  transaction(work: (tx: Tx) => Promise<void>): Promise<unknown>;
  /** Runs one statement with `$1`, `$2`… in it on the transaction; gives its rows, or an object that has them as `rows`. */
  query(tx: Tx, text: string, values: unknown[]): PromiseLike<unknown>;
}

/** Whatever `db` may be. */
// biome-ignore lint/suspicious/noExplicitAny: the transaction's type is taken from what is passed
export type AnyDatabase = Database | ReservingDatabase | TransactionRunner<any>;

/** What handlers receive as `tx` from such a database. */
export type ConnectionOf<D extends AnyDatabase> = D extends { reserve(): Promise<infer C> }
  ? C
  : D extends { transaction: unknown; query(tx: infer Tx, ...rest: never[]): unknown }
    ? Tx
    : // The right one among the overloads of a pool's connect.
      D extends { connect: { (): Promise<infer C>; (...args: never[]): unknown } }
      ? C
      : Connection;

export { isConnectionFailure, sqlState } from "./failure.js";
