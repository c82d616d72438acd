import { Buffer } from "node:buffer";
import type { HeaderPair } from "./answer.js";
import { type Connection, type Database, isConnectionFailure, sqlState } from "./driver.js";

/** What {@link Transaction.claim} found. */
export type Verdict =
  | { readonly found: "new" | "busy" | "mismatch" | "expired" | "beyond" | "lagging" | "version" }
  | { readonly found: "replay"; readonly stored: Stored };

/** A stored answer. */
export interface Stored {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
}

/** The record's name: whose key, of which kind of operation, bound to which request. */
export interface Claim {
  readonly tenant: string;
  readonly scope: string;
  /** The stored form. */
  readonly key: string;
  readonly fingerprint: Uint8Array;
}

/** The statements of one schema, made once. */
export interface Statements {
  readonly begin: string;
  readonly claim: string;
  readonly record: string;
  /** Of the schema. */
  readonly version: number;
}

/** How {@link Transaction.record} ended. */
export type CommitResult = "committed" | "conflict" | "unknown";

/** One connection, from BEGIN to its end. A connection whose state is not known is never given back. */
export class Transaction<C extends Connection> {
  readonly connection: C;
  readonly #statements: Statements;
  #open = false;
  #broken = false;
  #released = false;

  private constructor(connection: C, statements: Statements) {
    this.connection = connection;
    this.#statements = statements;
    connection.on?.("error", this.#onError);
  }

  static async on<C extends Connection>(db: Database<C>, statements: Statements): Promise<Transaction<C>> {
    return new Transaction(await db.connect(), statements);
  }

  // pg raises `error` on a connection that is cut between two queries: unheard, it would end the process.
  readonly #onError = (): void => {
    this.#broken = true;
  };

  /** Whether the connection was lost. Known for certain once {@link rollback} has tried. */
  get broken(): boolean {
    return this.#broken;
  }

  /** BEGIN, the key's lock, and the look. */
  async claim({ tenant, scope, key, fingerprint }: Claim): Promise<Verdict> {
    this.#open = true;
    // Both are on their way before either is awaited: a driver that pipelines sends them in one flush.
    const [, { rows }] = await this.#all([
      this.connection.query(this.#statements.begin),
      this.connection.query(this.#statements.claim, [tenant, scope, key, fingerprint, this.#statements.version]),
    ]);
    const [{ claim: answer }] = rows;
    if (!answer.startsWith("{")) return { found: answer };
    const { status, headers, body } = JSON.parse(answer);
    return { found: "replay", stored: { status, headers, body: body === null ? null : Buffer.from(body, "base64") } };
  }

  /**
   * INSERT of the finished record, and COMMIT.
   *
   * @throws what the database says where nothing was committed for a reason of the handler's (a deferred constraint,
   * a statement that had failed before)
   */
  async record(claim: Claim, { status, headers, body }: Stored): Promise<CommitResult> {
    const insert = this.connection.query(this.#statements.record, [
      claim.tenant,
      claim.scope,
      claim.key,
      claim.fingerprint,
      status,
      JSON.stringify(headers),
      body,
    ]);
    const commit = this.connection.query("COMMIT");
    const [inserted, committed] = await Promise.allSettled([insert, commit]);
    if (committed.status === "rejected") {
      // Only a statement's own error tells that the transaction is gone; a lost connection may have committed.
      this.#broken = isConnectionFailure(committed.reason);
      this.#open = this.#broken;
      if (this.#broken) return "unknown";
      throw committed.reason;
    }
    this.#open = false;
    if (inserted.status === "rejected") {
      // Stored meanwhile, or the key's partition was dropped meanwhile, as it is past the window: a look tells.
      if (/^23(505|514)$/.test(sqlState(inserted.reason) ?? "")) return "conflict";
      throw inserted.reason;
    }
    if (committed.value.command !== "COMMIT") throw rolledBack(committed.value.command);
    return "committed";
  }

  /** Undoes everything and lets the key go. Never throws: a connection that cannot is closed, which does the same. */
  async rollback(): Promise<void> {
    if (!this.#open || this.#broken) return;
    try {
      await this.connection.query("ROLLBACK");
      this.#open = false;
    } catch {
      this.#broken = true;
    }
  }

  /** Closes the connection at once, whatever is under way on it. */
  abandon(): void {
    this.#broken = true;
    this.#release();
  }

  /** Undoes what is still open and gives the connection back; closes it where the transaction's end is not known. */
  async end(): Promise<void> {
    await this.rollback();
    this.#release();
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    this.connection.removeListener?.("error", this.#onError);
    this.connection.release(this.#open || this.#broken);
  }

  // A rejection that nobody awaits yet would be "unhandled", and a query still queued must not outlive the release.
  async #all<T extends Promise<unknown>[]>(queries: [...T]): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
    await Promise.allSettled(queries);
    return Promise.all(queries) as Promise<{ [K in keyof T]: Awaited<T[K]> }>;
  }
}

/** As Postgres would put it: `transaction_rollback`. */
function rolledBack(command: string): Error {
  return Object.assign(new Error(`COMMIT was answered with ${command}: nothing was stored`), { code: "40000" });
}
