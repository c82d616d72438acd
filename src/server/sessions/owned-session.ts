import { MisuseError } from "../../errors.js";
import { type Deferred, deferred } from "../deferred.js";
import type { QueryResult, TransactionRunner } from "../driver.js";
import { beginThenAsk, commitBehind, type Ending, type Session, type Statement } from "./session.js";

/** A transaction under way: its function has been called, and waits to be told how to end. */
interface Open<Tx> {
  readonly tx: Promise<Tx>;
  readonly decision: Deferred<void>;
  /** Settles when the transaction has ended. */
  readonly done: Promise<unknown>;
}

/**
 * Transactions that a query builder or ORM runs. Its function is turned inside out: it hands over the transaction, and
 * returns or throws when it is told to commit or to roll back.
 */
export class OwnedSession<Tx> implements Session<Tx> {
  readonly #db: TransactionRunner<Tx>;
  #open: Open<Tx> | undefined;
  #tx: Tx | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #failed = false;
  #queried = false;
  #lost = false;

  constructor(db: TransactionRunner<Tx>) {
    this.#db = db;
  }

  get lost(): boolean {
    return this.#lost;
  }

  get tx(): Tx {
    return this.#tx as Tx;
  }

  begin(settings?: string): Promise<unknown> {
    const begun = deferred<Tx>();
    const decision = deferred<void>();
    decision.promise.catch(() => {});
    const work = async (tx: Tx): Promise<void> => {
      this.#tx = tx;
      begun.resolve(tx);
      await decision.promise;
    };
    const done = (async () => this.#db.transaction(work))();
    done.then(() => begun.reject(misused("`transaction` ended without calling its function")), begun.reject);
    const open = { tx: begun.promise, decision, done };
    // It ended before it was told how to: its connection was closed, and a statement would go nowhere.
    done.catch(() => {
      if (this.#open === open) this.#lost = true;
    });
    this.#open = open;
    this.#failed = false;
    this.#lost = false;
    this.#last = begun.promise;
    this.#queried = false;
    return settings === undefined ? begun.promise : this.#send(open, settings, []);
  }

  beginAndAsk(question: Statement): Promise<string> {
    return beginThenAsk(this, question);
  }

  commitAfter(last: Statement): Ending {
    return commitBehind(this, last);
  }

  query(text: string, values: unknown[] = []): Promise<QueryResult> {
    this.#queried = true;
    return this.#open === undefined ? this.#alone(text, values) : this.#send(this.#open, text, values);
  }

  #send(open: Open<Tx>, text: string, values: unknown[]): Promise<QueryResult> {
    const result = this.#last.then(async () => {
      if (this.#lost) await open.done;
      const rows = rowsOf(await this.#db.query(await open.tx, text, values));
      return { rows, command: "" };
    });
    this.#last = result.catch(() => {
      this.#failed = true;
    });
    return result;
  }

  async commit(): Promise<Pick<QueryResult, "command">> {
    const open = this.#open;
    // Not every ORM looks at what COMMIT is answered with. Where a statement of the handler's has failed, any other one
    // fails as well.
    if (open !== undefined && !this.#queried) this.query("SELECT 1").catch(() => {});
    await this.#last;
    if (this.#lost) await open?.done;
    if (open === undefined || this.#failed) {
      await this.rollback();
      return { command: "ROLLBACK" };
    }
    this.#open = undefined;
    open.decision.resolve();
    await open.done;
    return { command: "COMMIT" };
  }

  /** @throws what stood in the way: a rollback that went through throws our own error back. */
  async rollback(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    // Nobody waits for the function any more, and what its end would set off might go to a closed connection.
    if (this.#lost) await open?.done;
    const undone = new Error("samekey rolls this transaction back");
    open?.decision.reject(undone);
    await open?.done.catch((error) => {
      if (error !== undone && error?.cause !== undone) throw error;
    });
  }

  release(): void {
    this.rollback().catch(() => {});
  }

  // The connection is not ours to close. The handler keeps it, and the transaction, until it ends: what it still does
  // is undone with the rest. One that does not end would keep it for ever: the ORM does not notice when Postgres ends it.
  abandon(handled: Promise<unknown>, patience: number): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const undo = (): void => {
      clearTimeout(timer);
      if (!this.#lost) open.decision.reject(new Error("the handler was past its deadline"));
    };
    const timer = setTimeout(() => {
      if (!this.#lost) this.#send(open, "SELECT pg_terminate_backend(pg_backend_pid())", []).then(undo, undo);
    }, patience).unref();
    handled.then(undo, undo);
    open.done.catch(() => {
      this.#lost = true;
    });
  }

  async #alone(text: string, values: unknown[]): Promise<QueryResult> {
    this.begin().catch(() => {});
    try {
      const result = await this.query(text, values);
      await this.commit();
      return result;
    } finally {
      await this.rollback();
    }
  }
}

function rowsOf(result: unknown): unknown[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows;
  if (Array.isArray(rows)) return rows;
  throw misused("`query` must resolve to rows, or to an object with `rows`");
}

function misused(detail: string): MisuseError {
  return new MisuseError("bad_option", { detail: `\`db\`: ${detail}` });
}
