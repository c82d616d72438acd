import type { Connection, QueryResult } from "../driver.js";
import { sqlState, unknownStatement } from "../failure.js";
import { forgetPrepared, pgBatch, prepareNothing, refuseBatches, takesBatches } from "./pg-batch.js";
import {
  beginning,
  beginThenAsk,
  commitBehind,
  controlsTransaction,
  deallocates,
  type Ending,
  notTheirs,
  notTheirsToEnd,
  type Session,
  type Statement,
  transactionOver,
} from "./session.js";

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
      if (deallocates(text)) forgetPrepared(this.#connection);
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
    try {
      return await this.#askInBatch(question, last);
    } catch (error) {
      if (sqlState(error) !== unknownStatement) throw error;
      // Somebody has done away with what was prepared (DEALLOCATE, DISCARD). Nothing was done yet.
      forgetPrepared(this.#connection);
      await this.query("ROLLBACK");
      return this.#askInBatch(question, last);
    }
  }

  async #askInBatch(question: Statement, last: Statement): Promise<string> {
    const batch = pgBatch(this.#connection, [beginStatement, question], [last, commitStatement]);
    const results = await batch.run().catch((error) => {
      if (batch.sent) throw error;
      return [];
    });
    const answer = results[1]?.rows[0]?.[0];
    if (typeof answer === "string") return answer;
    // A `pg` that turns batches away, or hands over otherwise what comes back. Text it takes in any version.
    if (batch.sent) await this.query("ROLLBACK");
    const inText = await beginThenAsk(this, question);
    refuseBatches(this.#connection);
    return inText;
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
      const gone = sqlState(error) === unknownStatement;
      if (gone) prepareNothing(this.#connection);
      if (gone || batch.done === 0) throw error;
    });
    const committed = ran.then(
      ([, commit]) => ({ command: commit?.command ?? "" }),
      (error) => {
        const state = sqlState(error);
        // COMMIT was not run, behind a statement that failed or for want of itself: what it would have undone still has to be.
        if (state === unknownStatement || (batch.done === 0 && state !== undefined)) return this.rollback();
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
