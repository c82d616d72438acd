import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { MisuseError } from "../errors.js";
import { type Outcome, storedHeaders } from "./answer.js";
import { type Attempted, attempt, type Engine } from "./attempt.js";
import { type Contract, contractOf } from "./contract.js";
import type { Connection } from "./driver.js";
import type { Handler } from "./handler.js";
import { parseKey, sortableKey } from "./key.js";
import { migrate } from "./migrate.js";
import { observed } from "./observe.js";
import type { ResolvedOptions } from "./options.js";
import { problem } from "./problem.js";
import { type RetentionSchedule, scheduleRetention } from "./retention/schedule.js";
import { type RetentionStatus, retentionStatus } from "./retention/status.js";
import { type RetentionOptions, type RetentionReport, runRetention } from "./retention.js";
import { checkRequest, checkRunOptions, type RunOptions, type RunRequest } from "./run-options.js";
import { explainSchema, schemaVersion } from "./schema-state.js";
import { sessionsOf } from "./sessions/open.js";
import type { Sessions, Statement } from "./sessions/session.js";
import { quoteIdentifier } from "./sql/identifier.js";
import { replayOf } from "./stored.js";
import { withSession } from "./use-session.js";

/** How often one request may come to nothing, for others' sake, before it is told to come back. */
const maxAttempts = 4;

/** The longest pause before the second attempt, ms. It doubles with each. */
const pause = 25;

/**
 * Runs operations once per key. In one transaction: take the key's lock, look, run the effect, INSERT the finished
 * record, COMMIT. A crash at any point leaves all of it or nothing.
 *
 * The lock only spares work; the primary key decides. An insert that conflicts takes the effect back with it, and the
 * stored answer is given instead.
 */
export class Idempotency<Tx = Connection, R = unknown> {
  /** What clients may rely on. The adapters serve it at `/.well-known/idempotency`. */
  readonly contract: Contract;
  readonly #options: ResolvedOptions<R>;
  readonly #engine: Engine<Tx>;
  #migrating: Promise<void> | undefined;

  /** @internal */
  constructor(sessions: Sessions<Tx>, options: ResolvedOptions<R>) {
    this.#options = options;
    this.contract = contractOf(options.retention);
    const s = quoteIdentifier(options.schema);
    this.#engine = {
      sessions,
      statements: {
        settings: `SET LOCAL idle_in_transaction_session_timeout = ${options.handlerTimeout}`,
        claim: named("claim", `SELECT ${s}.claim($1, $2, $3, $4, $5, $6, $7)`),
        record: named(
          "record",
          `INSERT INTO ${s}.keys (tenant, scope, key, fingerprint, status, headers, body, body_omitted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        ),
        version: schemaVersion,
        patience: options.handlerTimeout,
      },
      handlerTimeout: options.handlerTimeout,
      storing: { names: storedHeaders(options.headers), maxBody: options.maxStoredBody },
    };
  }

  /**
   * Creates the schema and the partitions that are missing. Call it at start; any number of servers may at once.
   *
   * @throws StoreError `newer_schema` where a newer samekey made the schema.
   */
  migrate(): Promise<void> {
    this.#migrating ??= migrate(this.#engine.sessions, this.#options.schema, this.#options.window).finally(() => {
      this.#migrating = undefined;
    });
    return this.#migrating;
  }

  /**
   * One run of the retention job: partitions ahead, and what is past the window away. Any number of servers may; it may
   * die anywhere, and nothing depends on it but room. Its role owns the schema.
   *
   * @throws StoreError `unavailable`, `newer_schema` where the schema is not this code's.
   * @throws MisuseError `bad_option` where `db` is no pool: see {@link RetentionOptions.db}.
   */
  async runRetention(options?: RetentionOptions): Promise<RetentionReport> {
    return runRetention(this.#retentionSessions(options), this.#options.schema);
  }

  /**
   * Runs the retention job in this process, until the function that is returned is called.
   *
   * @throws MisuseError `bad_option`
   */
  startRetention(options: RetentionOptions & RetentionSchedule = {}): () => Promise<void> {
    const sessions = this.#retentionSessions(options);
    return scheduleRetention(() => runRetention(sessions, this.#options.schema), options);
  }

  /**
   * How the database keeps what is promised, for gauges.
   *
   * @throws StoreError `unavailable`, `newer_schema` where the schema is not this code's.
   */
  async retentionStatus(): Promise<RetentionStatus> {
    const { schema, window } = this.#options;
    return withSession(this.#engine.sessions, (session) => retentionStatus(session, schema, window));
  }

  #retentionSessions({ db }: RetentionOptions = {}): Sessions {
    if (db === undefined) return this.#engine.sessions;
    const sessions = sessionsOf(db);
    if (sessions === undefined) throw new MisuseError("bad_option", { detail: "`db` is no pool that samekey knows" });
    return sessions;
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
   * answered as a database that is away, whatever the handler made of it. Nor where its transaction lost against another
   * one (a deadlock, a serialization failure): then it is run again, and answered 503 when that does not help.
   * @throws MisuseError `bad_option` where an argument or the handler's answer is none
   */
  async run(request: RunRequest, handler: Handler<Tx>, options: RunOptions<Tx> = {}): Promise<Outcome> {
    checkRequest(request);
    checkRunOptions(options);
    const { observe } = this.#options;
    if (observe === undefined) return this.#run(request, handler, options);
    return observed(observe, request.scope, handler, (timed) => this.#run(request, timed, options));
  }

  async #run(request: RunRequest, handler: Handler<Tx>, options: RunOptions<Tx>): Promise<Outcome> {
    const { tenant, scope, fingerprint } = request;
    const parsed = parseKey(request.key);
    const keyless = "error" in parsed;
    if (keyless && (parsed.error !== "idempotency_key_missing" || options.required !== false)) {
      return problem(parsed.error);
    }
    const source = { tenant, scope, key: keyless ? randomUUID() : parsed.key };
    const claim = keyless ? undefined : { tenant, scope, key: sortableKey(source.key), fingerprint };

    let ran = false;
    const once: Handler<Tx> = (execution) => {
      ran = true;
      return handler(execution);
    };
    for (let number = 1; ; number += 1) {
      const mayRun = !ran || options.rerun !== false;
      const result = await attempt(this.#engine, { source, claim, options, handler: mayRun ? once : undefined });
      if ("outcome" in result) return result.outcome;
      if ("stored" in result) return replayOf(result.stored, { seal: options.seal, source });
      const hopeless = result.again === "contention" && ran && options.rerun === false;
      if (hopeless || number === maxAttempts) return problem("contention", result.cause);
      await this.#prepare(result, number);
    }
  }

  /** What is to be done before another attempt. The connection has been given back: the pool may hold but one. */
  async #prepare({ again, cause }: Extract<Attempted, { again: unknown }>, number: number): Promise<void> {
    if (again === "contention") await sleep(Math.random() * pause * 2 ** (number - 1));
    if (again !== "schema") return;
    const fault = (await explainSchema(this.#engine.sessions, this.#options.schema)) ?? cause;
    if (fault !== undefined) throw fault;
    await this.migrate();
  }
}

/** Behind a pooler statements of several programs meet on one connection: the same name is the same text. */
function named(what: string, text: string): Statement {
  return { name: `samekey_${what}_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`, text };
}
