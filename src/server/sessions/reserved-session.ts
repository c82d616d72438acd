import { isFatal } from "../../postgres/fatal.js";
import { closedError, type Watch } from "../../postgres/watch.js";
import type { QueryResult, ReservedConnection } from "../driver.js";
import { isConnectionFailure, sqlState, unknownStatement } from "../failure.js";
import {
  beginning,
  beginThenAsk,
  commitBehind,
  controlsTransaction,
  type Ending,
  notTheirs,
  notTheirsToEnd,
  type Session,
  type Statement,
  transactionOver,
} from "./session.js";

/** A statement of the driver's, not sent before it is awaited. */
interface PendingStatement {
  /** Its text, around what stands in it. */
  readonly strings: readonly string[];
  handler?: (statement: PendingStatement) => unknown;
  reject(reason: unknown): void;
  /** What the driver looks at before it sends it. */
  cancelled?: unknown;
}

/**
 * Keeps the driver from sending a statement again that it had prepared and that is gone (DEALLOCATE, a pooler). In a
 * transaction that never helps. Where COMMIT is on its way behind it, the second one runs outside: a record would stand
 * without its effect.
 */
function sentOnce(statement: PendingStatement): void {
  Object.defineProperty(statement, "retried", {
    get: () => undefined,
    set(error: unknown) {
      statement.cancelled = true;
      statement.reject(error);
    },
  });
}

/** After a pause this long the end of a connection may lie unread, ms. */
const lull = 50;

/** A connection that `postgres` has reserved. */
export class ReservedSession<C extends ReservedConnection> implements Session<C> {
  readonly #connection: C;
  readonly #watch: Watch;
  /** A statement has told so; the watch hears of it a moment later. */
  #lost = false;
  #over = false;
  #spoke = performance.now();

  constructor(connection: C, watch: Watch) {
    this.#connection = connection;
    this.#watch = watch;
  }

  get lost(): boolean {
    return this.#lost || this.#watch.lost;
  }

  get tx(): C {
    return new Proxy(this.#connection, {
      apply: (connection, self, args) => this.#held(Reflect.apply(connection as never, self, args)),
      get: (connection, name) => {
        if (name === "release") return notTheirs;
        if (name === "begin") return () => Promise.reject(notTheirsToEnd());
        const value = Reflect.get(connection, name);
        if (name !== "unsafe" && name !== "file") return value;
        return (...args: unknown[]) => this.#held(Reflect.apply(value as never, connection, args));
      },
    });
  }

  query(text: string, values: unknown[] = []): Promise<QueryResult> {
    // Prepared where the pool allows it (`prepare: false` is obeyed): otherwise the driver asks for the types of the
    // parameters first, and nothing can be sent along with it.
    return this.#send(text, values, values.length > 0 ? { prepare: true } : {});
  }

  begin(settings?: string): Promise<QueryResult> {
    return this.#send(beginning(settings), [], this.#watch.options);
  }

  async beginAndAsk(question: Statement): Promise<string> {
    try {
      return await beginThenAsk(this, question);
    } catch (error) {
      if (sqlState(error) !== unknownStatement) throw error;
      // It was prepared and is gone. Nothing was done yet, and the driver now knows.
      await this.#send("ROLLBACK", [], {});
      return beginThenAsk(this, question);
    }
  }

  commitAfter(last: Statement): Ending {
    return commitBehind(this, last);
  }

  commit(): Promise<QueryResult> {
    this.#over = true;
    return this.query("COMMIT");
  }

  rollback(): Promise<QueryResult> {
    this.#over = true;
    return this.query("ROLLBACK");
  }

  release(destroy = false): void {
    this.#over = true;
    // The driver has taken a closed connection back already.
    if (this.lost) return;
    if (destroy) {
      this.#terminate();
      return;
    }
    this.#watch.end();
    this.#connection.release();
  }

  abandon(): void {
    this.release(true);
  }

  async #send(text: string, values: unknown[], options: { prepare?: boolean }): Promise<QueryResult> {
    await this.#caughtUp();
    if (this.lost) throw closedError();
    try {
      const statement = this.#connection.unsafe(text, values, options);
      sentOnce(statement as unknown as PendingStatement);
      const rows = await Promise.race([statement, this.#watch.closed]);
      this.#spoke = performance.now();
      return { rows, command: rows.command };
    } catch (error) {
      this.#notice(error);
      throw error;
    }
  }

  // There is no way to close one connection of the pool from here. It can ask its backend to end, behind whatever it
  // is doing; the driver then opens another in its place.
  #terminate(): void {
    const ending = this.#connection.unsafe("ROLLBACK; SELECT pg_terminate_backend(pg_backend_pid())");
    ending.then(
      () => {},
      () => {},
    );
  }

  // Statements fail a moment before the connection is closed. Whatever is sent in between blocks it for ever, even after
  // the driver has opened it again.
  #notice(error: unknown): void {
    if (sqlState(error) === undefined ? isConnectionFailure(error) : isFatal(error)) this.#lost = true;
  }

  // Checked when it is sent, not when it is made: a statement may be kept and awaited later.
  #held<Made>(made: Made): Made {
    const statement = made as PendingStatement | undefined;
    const send = statement?.handler;
    if (statement === undefined || typeof send !== "function") return made;
    sentOnce(statement);
    const { reject } = statement;
    statement.reject = (reason) => {
      this.#notice(reason);
      reject(reason);
    };
    statement.handler = async (one) => {
      await this.#caughtUp();
      if (this.#over || this.lost) one.reject(this.#over ? transactionOver() : closedError());
      else if (controlsTransaction(one.strings.join(" "))) one.reject(notTheirsToEnd());
      else {
        send(one);
        this.#watch.closed.catch((error) => one.reject(error));
      }
    };
    return made;
  }

  // Lets the driver read what came while this process stood still or was busy elsewhere: if that is the connection's end,
  // nothing must be sent any more (see #notice).
  async #caughtUp(): Promise<void> {
    if (performance.now() - this.#spoke < lull) return;
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    this.#spoke = performance.now();
  }
}
