/** What the store needs of a Postgres driver, and no more: no driver is imported. */

import { StoreError } from "../../errors.js";
import { reserve } from "../../postgres/reserve.js";
import { Watch } from "../../postgres/watch.js";
import type { CallerTransaction, Clock } from "../../store.js";
import { PostgresFailure } from "./failure.js";

/** The part of a query's result that is read. */
export interface PostgresResult {
  // biome-ignore lint/suspicious/noExplicitAny: drivers type their rows as any; anything narrower would refuse them
  readonly rows: any[];
}

/** One connection out of a pool. `PoolClient` of pg is one. */
export interface PostgresConnection {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  /** Gives the connection back; with `true` it is closed instead. */
  release(destroy?: boolean): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
}

/** A pool of connections. `Pool` of pg is one. */
export interface PostgresPool {
  connect(): Promise<PostgresConnection>;
}

/** One connection out of postgres.js. */
export interface ReservedPostgresJs {
  unsafe(text: string, values?: never[]): PromiseLike<unknown>;
  release(): void;
}

/** What `postgres()` of postgres.js answers with. */
export interface PostgresJs {
  reserve(): Promise<ReservedPostgresJs>;
}

/** What a statement gave. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** The command tag without its counts: `COMMIT`, or `ROLLBACK` where a failed transaction was asked to commit. */
  readonly command: string | undefined;
}

/** A connection as the store uses it. What fails in it is a {@link PostgresFailure}. */
export interface Session {
  query(text: string, ...values: readonly unknown[]): Promise<Answer>;
  /** Gives the connection back; `broken` where it must not be used again. Only the first call counts. */
  release(broken: boolean): void;
}

/** How long to wait for a connection, in milliseconds. */
const PATIENCE = 10_000;

/**
 * Takes a connection out of the pool.
 *
 * @throws StoreError `unavailable` where the pool gives none for long; PostgresFailure
 */
export async function connect(pool: PostgresPool | PostgresJs, clock: Clock): Promise<Session> {
  const given = new AbortController();
  const connecting = take(pool);
  try {
    const over = clock.sleep(PATIENCE, given.signal, true).then(() => undefined);
    over.catch(() => {});
    const session = await Promise.race([connecting, over]);
    if (session) return session;
    connecting.then(
      (late) => late.release(false),
      () => {},
    );
    const detail = `Postgres: the pool gave no connection within ${PATIENCE} ms. Does the program hold them all, in transactions that wait for this?`;
    throw new StoreError("unavailable", { detail });
  } finally {
    given.abort(0);
  }
}

async function take(pool: PostgresPool | PostgresJs): Promise<Session> {
  try {
    return "reserve" in pool ? reserved(await reserve(pool), new Watch(pool)) : pooled(await pool.connect());
  } catch (cause) {
    throw new PostgresFailure(cause);
  }
}

function pooled(connection: PostgresConnection): Session {
  let cut = false;
  let released = false;
  // pg raises `error` on a connection that is cut between two queries: unheard, it would end the process.
  const onError = (): void => {
    cut = true;
  };
  connection.on?.("error", onError);
  return {
    query: (text, ...values) =>
      answer(values.length > 0 ? connection.query(text, [...values]) : connection.query(text)),
    release(broken) {
      if (released) return;
      released = true;
      // A connection that is closed may still raise it.
      if (!broken) connection.removeListener?.("error", onError);
      connection.release(broken || cut);
    },
  };
}

function reserved(sql: ReservedPostgresJs, watch: Watch): Session {
  let released = false;
  // One without values, to be watched by; it goes along with whatever comes first.
  const watched = sql as { unsafe(text: string, values: never[], options: object): PromiseLike<unknown> };
  watched.unsafe("select 1", [], watch.options).then(
    () => {},
    () => {},
  );
  return {
    query: (text, ...values) =>
      answer(Promise.race([values.length > 0 ? sql.unsafe(text, values as never[]) : sql.unsafe(text), watch.closed])),
    release(broken) {
      if (released) return;
      released = true;
      // postgres.js takes a connection that is lost out by itself; to give it back would be to use it again.
      if (broken || watch.lost) return;
      watch.end();
      sql.release();
    },
  };
}

/** A transaction of somebody else's. */
export function sessionOf(tx: CallerTransaction): Pick<Session, "query"> {
  return { query: (text, ...values) => answer(tx.query(text, [...values])) };
}

async function answer(asked: PromiseLike<unknown>): Promise<Answer> {
  try {
    const result = await asked;
    // Several statements in one text give several results. One of postgres.js is an array as well: of rows.
    return read(Array.isArray(result) && !("command" in result) ? result.at(-1) : result);
  } catch (cause) {
    throw new PostgresFailure(cause);
  }
}

function read(result: unknown): Answer {
  const { rows, command } = (result ?? {}) as { rows?: Record<string, unknown>[]; command?: string };
  return { rows: rows ?? (Array.isArray(result) ? result : []), command };
}
