import { MisuseError } from "../errors.js";
import { bytesOf, dispositionOf, headerPairs, marked, type Outcome, storedHeaders } from "./answer.js";
import { type Contract, contractOf } from "./contract.js";
import { type Connection, type Database, isConnectionFailure } from "./driver.js";
import { type Handler, HandlerFailure, handle } from "./handler.js";
import { parseKey, sortableKey } from "./key.js";
import { migrate } from "./migrate.js";
import { observed } from "./observe.js";
import type { ResolvedOptions } from "./options.js";
import { problem } from "./problem.js";
import { explainSchema, isSchemaFailure, schemaVersion } from "./schema-state.js";
import { sessionsOf } from "./sessions/open.js";
import type { Sessions } from "./sessions/session.js";
import { quoteIdentifier } from "./sql/identifier.js";
import { type Claim, type Statements, Transaction, type Verdict } from "./transaction.js";

/** What identifies one operation to the server. */
export interface RunRequest {
  /** A stable account id, never a credential. Authenticate before the claim. */
  readonly tenant: string;
  /** The kind of operation, an explicit constant. Renaming it makes its keys unknown. */
  readonly scope: string;
  /** The `Idempotency-Key` header as it was received: a value, or the list of its lines. */
  readonly key: string | readonly string[] | null | undefined;
  /** See {@link fingerprint}. */
  readonly fingerprint: Uint8Array;
}

/** A conflict at the final INSERT means that another answer is stored: one more look finds it. */
const maxLooks = 3;

/**
 * Runs operations once per key. In one transaction: take the key's lock, look, run the effect, INSERT the finished
 * record, COMMIT. A crash at any point leaves all of it or nothing.
 *
 * The lock only spares work; the primary key decides. An insert that conflicts takes the effect back with it, and the
 * stored answer is given instead.
 */
export class Idempotency<C extends Connection = Connection, R = unknown> {
  /** What clients may rely on. The adapters serve it at `/.well-known/idempotency`. */
  readonly contract: Contract;
  readonly #db: Database<C>;
  readonly #options: ResolvedOptions<R>;
  readonly #statements: Statements;
  readonly #stored: ReadonlySet<string>;
  #migrating: Promise<void> | undefined;

  /** @internal */
  constructor(db: Database<C>, options: ResolvedOptions<R>) {
    this.#db = db;
    this.#options = options;
    this.contract = contractOf(options.retention);
    this.#stored = storedHeaders(options.headers);
    const s = quoteIdentifier(options.schema);
    this.#statements = {
      begin: `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = ${options.handlerTimeout}`,
      claim: `SELECT ${s}.claim($1, $2, $3, $4, $5)`,
      record: `INSERT INTO ${s}.keys (tenant, scope, key, fingerprint, status, headers, body) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      version: schemaVersion,
    };
  }

  /**
   * Creates the schema and the partitions that are missing. Call it at start; any number of servers may at once.
   *
   * @throws StoreError `newer_schema` where a newer samekey made the schema.
   */
  migrate(): Promise<void> {
    this.#migrating ??= migrate(sessionsOf(this.#db) as Sessions, this.#options.schema, this.#options.window).finally(
      () => {
        this.#migrating = undefined;
      },
    );
    return this.#migrating;
  }

  /**
   * The account that `request` acts for, by the `tenant` option. For adapters.
   *
   * @returns undefined where the option knows none: the request is not authenticated.
   * @throws MisuseError `bad_option` without a `tenant` option.
   */
  async tenantOf(request: R): Promise<string | undefined> {
    if (this.#options.tenant === undefined) {
      throw new MisuseError("bad_option", { detail: "`tenant` must be given to createIdempotency for its adapters" });
    }
    return (await this.#options.tenant(request)) || undefined;
  }

  /**
   * Answers one request: runs `handler` if its key is new, or gives what is stored, or says why neither can be.
   *
   * @throws what the handler throws, after everything was rolled back. Not where its connection was lost: that is
   * answered as a database that is away, whatever the handler made of it.
   */
  async run(request: RunRequest, handler: Handler<C>): Promise<Outcome> {
    const { tenant, scope } = request;
    if (!tenant || !scope) throw new MisuseError("bad_option", { detail: "`tenant` and `scope` must not be empty" });
    const { observe } = this.#options;
    if (observe === undefined) return this.#run(request, handler);
    return observed(observe, scope, handler, (timed) => this.#run(request, timed));
  }

  async #run(request: RunRequest, handler: Handler<C>): Promise<Outcome> {
    const { tenant, scope, fingerprint } = request;
    const parsed = parseKey(request.key);
    if ("error" in parsed) return problem(parsed.error);

    const claim: Claim = { tenant, scope, key: sortableKey(parsed.key), fingerprint };
    for (let look = 1; look <= maxLooks; look += 1) {
      const outcome = await this.#attempt(claim, parsed.key, handler);
      if (outcome !== "again") return outcome;
    }
    return problem("unavailable");
  }

  async #attempt(claim: Claim, key: string, handler: Handler<C>): Promise<Outcome | "again"> {
    let tx: Transaction<C> | undefined;
    let misfit: unknown;
    try {
      tx = await Transaction.on(this.#db, this.#statements);
      const verdict = await tx.claim(claim);
      if (verdict.found === "new") return await this.#execute(tx, claim, key, handler);
      if (verdict.found !== "lagging" && verdict.found !== "version") return answerTo(verdict);
    } catch (error) {
      if (error instanceof HandlerFailure) {
        if (!error.late) {
          await tx?.rollback();
          if (tx?.broken) return problem("unavailable");
          throw error.cause;
        }
        // The handler may still be at work: it must not be left with a connection outside the transaction.
        tx?.abandon();
        return problem("handler_timeout");
      }
      if (isConnectionFailure(error)) return problem("unavailable");
      if (!isSchemaFailure(error)) throw error;
      misfit = error;
    } finally {
      await tx?.end();
    }
    // Only now, with the connection given back: the pool may hold but one.
    const fault = (await explainSchema(sessionsOf(this.#db) as Sessions, this.#options.schema)) ?? misfit;
    if (fault !== undefined) throw fault;
    await this.migrate();
    return "again";
  }

  async #execute(tx: Transaction<C>, claim: Claim, key: string, handler: Handler<C>): Promise<Outcome | "again"> {
    const { tenant, scope } = claim;
    const answer = await handle(handler, { tx: tx.connection, key, tenant, scope }, this.#options.handlerTimeout);
    const { status } = answer;
    const headers = headerPairs(answer.headers);
    const body = bytesOf(answer.body);
    const disposition = answer.disposition ?? dispositionOf(status);
    if (disposition === "released") return { kind: "released", status, headers, body };
    if (disposition === "refused") {
      // A savepoint would cost every operation a trip. Undoing all of it and claiming anew costs only refusals one;
      // whoever took the key in between did so lawfully, and their answer is the key's answer.
      await tx.rollback();
      const verdict = await tx.claim(claim);
      if (verdict.found !== "new") return answerTo(verdict);
    }
    const stored = headers.filter(([name]) => this.#stored.has(name));
    const result = await tx.record(claim, { status, headers: stored, body });
    if (result === "conflict") return "again";
    if (result === "unknown") return problem("outcome_unknown");
    return { kind: "executed", status, headers: marked("executed", headers), body };
  }
}

/** The answer where nothing is to be run. */
function answerTo(verdict: Verdict): Outcome {
  switch (verdict.found) {
    case "replay": {
      const { status, headers, body } = verdict.stored;
      return { kind: "replayed", status, headers: marked("replayed", headers), body };
    }
    case "mismatch":
      return problem("idempotency_key_reused_with_different_body");
    case "expired":
      return problem("idempotency_key_expired");
    case "beyond":
      return problem("idempotency_key_time");
    default:
      return problem("in_progress");
  }
}
