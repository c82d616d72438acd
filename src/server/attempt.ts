import { type Outcome, outcomeOf } from "./answer.js";
import { checkedAnswer } from "./checked-answer.js";
import { derive, type KeySource } from "./derive.js";
import { isConnectionFailure, isConnectionState, isContention, withoutValues } from "./failure.js";
import { type Deadline, type Execution, type Handler, HandlerFailure, handle } from "./handler.js";
import { problem } from "./problem.js";
import type { RunOptions } from "./run-options.js";
import { isSchemaFailure } from "./schema-state.js";
import type { Sessions } from "./sessions/session.js";
import { type Stored, type Storing, toStored } from "./stored.js";
import { type Claim, type Statements, Transaction } from "./transaction.js";

/** What an engine brings to every attempt. */
export interface Engine<Tx> {
  readonly sessions: Sessions<Tx>;
  readonly statements: Statements;
  /** ms. */
  readonly handlerTimeout: number;
  readonly storing: Pick<Storing, "names" | "maxBody">;
}

/** One request's work. */
export interface Task<Tx> {
  readonly source: KeySource;
  /** Undefined where the request has no key and needs none. */
  readonly claim: Claim | undefined;
  /** Undefined where it has run and must not run again. */
  readonly handler: Handler<Tx> | undefined;
  readonly options: RunOptions<Tx>;
}

/** How an attempt ended: with an answer, with a stored one, or with a reason for another attempt. */
export type Attempted =
  | { readonly outcome: Outcome }
  | { readonly stored: Stored }
  | { readonly again: "conflict" | "contention" | "schema"; readonly cause?: unknown };

/** One transaction: everything of it lasts, or nothing does. */
export async function attempt<Tx>(engine: Engine<Tx>, task: Task<Tx>): Promise<Attempted> {
  let tx: Transaction<Tx> | undefined;
  try {
    tx = await Transaction.on(engine.sessions, engine.statements);
    return await (task.claim === undefined ? unprotected(engine, task, tx) : claimed(engine, task, task.claim, tx));
  } catch (error) {
    return await failed(tx, error);
  } finally {
    await tx?.end();
  }
}

async function claimed<Tx>(engine: Engine<Tx>, task: Task<Tx>, claim: Claim, tx: Transaction<Tx>): Promise<Attempted> {
  const verdict = await tx.claim(claim);
  switch (verdict.found) {
    case "replay":
      return { stored: verdict.stored };
    case "mismatch":
      return { outcome: problem("idempotency_key_reused_with_different_body") };
    case "expired":
      return { outcome: problem("idempotency_key_expired") };
    case "beyond":
      return { outcome: problem("idempotency_key_time") };
    case "lagging":
    case "version":
      return { again: "schema" };
  }
  // Whoever missed the lock is told of an older answer, too: a busy twin would be busy with just that.
  const older = await fallenBack(engine, task, tx);
  if (older !== undefined) return { outcome: older };
  return verdict.found === "busy" ? { outcome: problem("in_progress") } : execute(engine, task, claim, tx);
}

async function fallenBack<Tx>(
  { handlerTimeout, storing }: Engine<Tx>,
  task: Task<Tx>,
  { tx }: Transaction<Tx>,
): Promise<Outcome | undefined> {
  const { fallback } = task.options;
  if (fallback === undefined) return undefined;
  const answer = await handle(async ({ signal }) => {
    const found = await fallback({ ...task.source, tx, signal });
    return found && checkedAnswer(found);
  }, handlerTimeout);
  if (answer === undefined) return undefined;
  return outcomeOf("replayed", { ...answer, headers: answer.headers.filter(([name]) => storing.names.has(name)) });
}

async function execute<Tx>(engine: Engine<Tx>, task: Task<Tx>, claim: Claim, tx: Transaction<Tx>): Promise<Attempted> {
  const { handler, source, options } = task;
  if (handler === undefined) return { again: "contention" };
  const storing = { ...engine.storing, seal: options.seal, source };
  const { answer, stored } = await handle(async (deadline) => {
    const answer = checkedAnswer(await handler(executionOf(task, tx, deadline)));
    return { answer, stored: answer.disposition === "released" ? undefined : await toStored(answer, storing) };
  }, engine.handlerTimeout);
  if (stored === undefined) return { outcome: outcomeOf("released", answer) };
  if (answer.disposition === "refused") {
    // A savepoint would cost every operation a trip. Undoing all of it and claiming anew costs only refusals one;
    // whoever took the key in between did so lawfully, and their answer is the key's answer.
    await tx.rollback();
    const verdict = await tx.claim(claim);
    if (verdict.found === "replay") return { stored: verdict.stored };
    if (verdict.found !== "new") return { outcome: problem("in_progress") };
  }
  const result = await tx.record(claim, stored);
  if (result === "conflict") return { again: "conflict" };
  if (result === "unknown") return { outcome: problem("outcome_unknown") };
  return { outcome: outcomeOf("executed", answer) };
}

async function unprotected<Tx>(
  { handlerTimeout }: Engine<Tx>,
  task: Task<Tx>,
  tx: Transaction<Tx>,
): Promise<Attempted> {
  const { handler } = task;
  if (handler === undefined) return { again: "contention" };
  await tx.begin();
  const work = async (deadline: Deadline) => checkedAnswer(await handler(executionOf(task, tx, deadline)));
  const answer = await handle(work, handlerTimeout);
  if (answer.disposition === "released") return { outcome: outcomeOf("released", answer) };
  if (answer.disposition === "refused") await tx.rollback();
  else if ((await tx.commit()) === "unknown") return { outcome: problem("outcome_unknown_without_key") };
  return { outcome: outcomeOf("unprotected", answer) };
}

function executionOf<Tx>({ source }: Task<Tx>, { tx }: Transaction<Tx>, deadline: Deadline): Execution<Tx> {
  const { tenant, scope, key } = source;
  return {
    tenant,
    scope,
    key,
    tx,
    get signal() {
      return deadline.signal;
    },
    derive: (step) => derive(source, step),
  };
}

/** @throws what is the handler's, or nobody's */
async function failed<Tx>(tx: Transaction<Tx> | undefined, error: unknown): Promise<Attempted> {
  const ofHandler = error instanceof HandlerFailure;
  if (ofHandler && error.late) {
    // The handler may still be at work: it must not be left with a connection outside the transaction.
    tx?.abandon(error.handled);
    return { outcome: problem("handler_timeout") };
  }
  const cause = ofHandler ? error.cause : error;
  if (isContention(cause)) return { again: "contention", cause };
  if (ofHandler) {
    await tx?.rollback();
    if (tx?.broken || isConnectionState(cause)) return { outcome: problem("unavailable", cause) };
    throw cause;
  }
  if (isConnectionFailure(error)) return { outcome: problem("unavailable", error) };
  if (isSchemaFailure(error)) return { again: "schema", cause: error };
  throw withoutValues(error);
}
