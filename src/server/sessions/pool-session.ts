import type { Connection, QueryResult } from "../driver.js";
import { sqlState } from "../failure.js";
import { forgetPrepared, pgBatch, takesBatches } from "./pg-batch.js";
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

/** invalid_sql_statement_name: it was not prepared on this connection. */
const unknownStatement = "26000";

const beginStatement: Statement = { name: "samekey_begin", text: beginning(undefined) };
const commitStatement: Statement = { name: "samekey_commit", text: "COMMIT" };

/** A connection from a pool such as `pg` has. */
export class PoolSession<C extends Connection> implements Session<C> {
  readonly #connection: C;
  #lost = false;
  #over = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: C) {
    this.#connection = connection;
    connection.on?.("error", this.#onError);
  }

  // pg raises `error` on a connection that is cut between two queries: unheard, it would end the process.
  readonly #onError = (): void => {
    this.#lost = true;
  };

  get lost(): boolean {
    return this.#lost;
  }

  get tx(): C {
    const query = (...args: [unknown, ...unknown[]]): unknown => {
      if (this.#over) return Promise.reject(transactionOver());
      const [first] = args;
      const text = typeof first === "string" ? first : (first as { text?: unknown } | undefined)?.text;
      if (controlsTransaction(text)) return Promise.reject(notTheirsToEnd());
      return Reflect.apply(this.#connection.query, this.#connection, args);
    };
    return new Proxy(this.#connection, {
      get: (connection, name) =>
        name === "query" ? query : name === "release" ? notTheirs : Reflect.get(connection, name),
    });
  }

  query(text: string, values?: unknown[]): Promise<QueryResult> {
    if (this.#connection.pipeline) return this.#connection.query(text, values);
    // One after the other: pg is to refuse what is asked of a connection that is still at work.
    const result = this.#last.then(() => this.#connection.query(text, values));
    this.#last = result.catch(() => {});
    return result;
  }

  begin(settings?: string): Promise<QueryResult> {
    return this.query(beginning(settings));
  }

  async beginAndAsk(question: Statement, last: Statement): Promise<string> {
    if (!takesBatches(this.#connection)) return beginThenAsk(this, question);
    const ask = async (): Promise<string> => {
      const batch = pgBatch(this.#connection, [beginStatement, question], [last, commitStatement]);
      const [, answer] = await batch.run();
      return answer?.rows[0]?.[0] as string;
    };
    try {
      return await ask();
    } catch (error) {
      if (sqlState(error) !== unknownStatement) throw error;
      // Somebody has done away with what was prepared (DEALLOCATE, DISCARD). Nothing was done yet.
      forgetPrepared(this.#connection);
      await this.query("ROLLBACK");
      return ask();
    }
  }

  commit(): Promise<QueryResult> {
    this.#over = true;
    return this.query("COMMIT");
  }

  commitAfter(last: Statement): Ending {
    if (!takesBatches(this.#connection)) return commitBehind(this, last);
    this.#over = true;
    const batch = pgBatch(this.#connection, [last, commitStatement]);
    const ran = batch.run();
    const done = ran.catch((error) => {
      if (batch.done === 0) throw error;
    });
    const committed = ran.then(
      ([, commit]) => ({ command: commit?.command ?? "" }),
      (error) => {
        // COMMIT was not run behind a statement that failed: what would then have undone everything still has to.
        if (batch.done === 0 && sqlState(error) !== undefined) return this.rollback();
        throw error;
      },
    );
    return { done, committed };
  }

  rollback(): Promise<QueryResult> {
    this.#over = true;
    return this.query("ROLLBACK");
  }

  release(destroy = false): void {
    this.#over = true;
    this.#connection.removeListener?.("error", this.#onError);
    this.#connection.release(destroy || this.#lost);
  }

  abandon(): void {
    this.release(true);
  }
}
