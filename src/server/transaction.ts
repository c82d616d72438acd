import { Buffer } from "node:buffer";
import { MisuseError } from "../errors.js";
import { isConnectionState, sqlState, unknownStatement } from "./failure.js";
import { mintedAt } from "./key.js";
import type { Session, Sessions, Statement } from "./sessions/session.js";
import type { Stored } from "./stored.js";

/** What {@link Transaction.claim} found. */
export type Verdict =
  | { readonly found: "new" | "busy" | "mismatch" | "expired" | "beyond" | "lagging" | "version" }
  | { readonly found: "replay"; readonly stored: Stored };

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
  /** What a transaction begins with that claims nothing. */
  readonly settings: string;
  readonly claim: Statement;
  readonly record: Statement;
  /** Of the schema. */
  readonly version: number;
  /** After how long without an answer to one of these the connection counts as lost, ms. */
  readonly patience: number;
}

/** How {@link Transaction.record} ended. */
export type CommitResult = "committed" | "conflict" | "unknown";

/** One session, from BEGIN to its end. A connection whose state is not known is never given back. */
export class Transaction<Tx> {
  readonly #session: Session<Tx>;
  readonly #statements: Statements;
  #open = false;
  #broken = false;
  #released = false;

  private constructor(session: Session<Tx>, statements: Statements) {
    this.#session = session;
    this.#statements = statements;
  }

  static async on<Tx>(sessions: Sessions<Tx>, statements: Statements): Promise<Transaction<Tx>> {
    return new Transaction(await sessions.connect(), statements);
  }

  /** For the handler. */
  get tx(): Tx {
    return this.#session.tx;
  }

  /** Whether the connection was lost. Known for certain once {@link rollback} has tried. */
  get broken(): boolean {
    return this.#broken || this.#session.lost;
  }

  /** BEGIN alone, for work without a key. */
  async begin(): Promise<void> {
    this.#open = true;
    await this.#answered(this.#session.begin(this.#statements.settings));
  }

  /** BEGIN, the key's lock, and the look. */
  async claim({ tenant, scope, key, fingerprint }: Claim): Promise<Verdict> {
    this.#open = true;
    const { claim, record, version, patience } = this.#statements;
    const values = [tenant, scope, key, mintedAt(key), fingerprint, version, String(patience)];
    const answer = await this.#answered(this.#session.beginAndAsk({ ...claim, values }, record));
    if (!answer.startsWith("{")) return { found: answer as Exclude<Verdict["found"], "replay"> };
    const { status, headers, body, omitted } = JSON.parse(answer);
    const bytes = body === null ? null : Buffer.from(body, "base64");
    return { found: "replay", stored: { status, headers, body: bytes, omitted } };
  }

  /**
   * INSERT of the finished record, and COMMIT.
   *
   * @throws what the database says where nothing was committed for a reason of the handler's (a deferred constraint);
   * MisuseError where one of its statements had failed
   */
  async record(claim: Claim, { status, headers, body, omitted }: Stored): Promise<CommitResult> {
    const { tenant, scope, key, fingerprint } = claim;
    const values = [tenant, scope, key, fingerprint, status, JSON.stringify(headers), body, omitted];
    const ending = this.#session.commitAfter({ ...this.#statements.record, values });
    const [inserted, committed] = await Promise.allSettled([
      this.#answered(ending.done),
      this.#committed(ending.committed),
    ]);
    if (committed.status === "fulfilled" && committed.value === "unknown") return "unknown";
    if (inserted.status === "rejected") {
      const state = sqlState(inserted.reason);
      // Stored meanwhile, or the key's partition was dropped meanwhile, as it is past the window: a look tells. Or the handler
      // has done away with what was prepared.
      if (state === "23505" || state === "23514" || state === unknownStatement) return "conflict";
      throw state === "25P02" ? aborted(inserted.reason) : inserted.reason;
    }
    if (committed.status === "rejected") throw committed.reason;
    return committed.value;
  }

  /** @throws as {@link record} */
  commit(): Promise<"committed" | "unknown"> {
    return this.#committed(this.#session.commit());
  }

  async #committed(committing: Promise<{ readonly command: string }>): Promise<"committed" | "unknown"> {
    try {
      const { command } = await this.#answered(committing);
      this.#open = false;
      if (command !== "COMMIT") throw aborted(undefined);
      return "committed";
    } catch (error) {
      if (!this.#open) throw error;
      // Only a statement's own error tells that the transaction is gone; a lost connection may have committed.
      this.#broken = sqlState(error) === undefined || isConnectionState(error);
      this.#open = this.#broken;
      if (this.#broken) return "unknown";
      throw error;
    }
  }

  /** Undoes everything and lets the key go. Never throws: a connection that cannot is closed, which does the same. */
  async rollback(): Promise<void> {
    if (!this.#open || this.#broken) return;
    try {
      await this.#answered(this.#session.rollback());
      this.#open = false;
    } catch {
      this.#broken = true;
    }
  }

  /**
   * Leaves a handler that may still be at work.
   *
   * @param handled - settles when it has ended
   */
  abandon(handled: Promise<unknown>): void {
    this.#open = false;
    this.#released = true;
    this.#session.abandon(handled, this.#statements.patience);
  }

  /** Undoes what is still open and gives the connection back; closes it where the transaction's end is not known. */
  async end(): Promise<void> {
    await this.rollback();
    if (this.#released) return;
    this.#released = true;
    this.#session.release(this.#open || this.#broken);
  }

  // A connection whose other end vanished without a word stays silent for as long as TCP keeps trying: minutes.
  #answered<T>(statement: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#broken = true;
        reject(new Error("the database did not answer in time"));
      }, this.#statements.patience);
      statement.then(
        (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        (error) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    });
  }
}

function aborted(cause: unknown): MisuseError {
  return new MisuseError("bad_option", {
    detail:
      "the handler answered although one of its statements had failed, and Postgres would not commit: " +
      "let the error through, answer with a refusal, or run what may fail in a savepoint",
    cause,
  });
}
