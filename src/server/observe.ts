import { dispositionOf, type Outcome, type OutcomeKind } from "./answer.js";
import type { Handler } from "./handler.js";

/**
 * How a request ended: as {@link OutcomeKind}, but with refusals apart, and `failed` where `run` threw, for the
 * handler's sake or the database's.
 */
export type ServerEventKind = OutcomeKind | "refused" | "failed";

/** What the `observe` option is told of one request. Never its tenant, key or body. */
export interface ServerEvent {
  readonly kind: ServerEventKind;
  readonly scope: string;
  /** The answer's status; undefined where `run` threw. */
  readonly status: number | undefined;
  /** From the call of `run` to its end, ms. */
  readonly duration: number;
  /** The handler's part of it, in all its attempts, ms; undefined where it did not run. */
  readonly handlerDuration: number | undefined;
  /** How often the handler ran: 0 for a replay, more than 1 where the transaction was retried. */
  readonly attempts: number;
}

/** Runs, and tells the observer how it ended. Whatever the observer does, the answer is the same. */
export async function observed<Tx>(
  observe: (event: ServerEvent) => void,
  scope: string,
  handler: Handler<Tx>,
  run: (handler: Handler<Tx>) => Promise<Outcome>,
): Promise<Outcome> {
  const began = performance.now();
  const handled = new Stopwatch();
  let refused = false;
  const tell = (kind: ServerEventKind, status?: number): void => {
    const { attempts } = handled;
    const handlerDuration = attempts === 0 ? undefined : handled.elapsed();
    const event = { kind, scope, status, duration: performance.now() - began, handlerDuration, attempts };
    // Inside a promise, so that neither a throw nor a rejection gets anywhere.
    new Promise((resolve) => resolve(observe(event))).catch(() => {});
  };

  try {
    const outcome = await run(async (execution) => {
      const answer = await handled.time(() => handler(execution));
      // An answer that is none is told by whoever checks it.
      refused = (answer?.disposition ?? dispositionOf(answer?.status)) === "refused";
      return answer;
    });
    tell(outcome.kind === "executed" && refused ? "refused" : outcome.kind, outcome.status);
    return outcome;
  } catch (error) {
    tell("failed");
    throw error;
  }
}

/** Adds up the time of one thing after another. */
class Stopwatch {
  attempts = 0;
  #total = 0;
  #began: number | undefined;

  async time<T>(work: () => Promise<T> | T): Promise<T> {
    this.attempts += 1;
    this.#began = performance.now();
    try {
      return await work();
    } finally {
      this.#total = this.elapsed();
      this.#began = undefined;
    }
  }

  /** With what is still under way: a handler that is past its deadline goes on. */
  elapsed(): number {
    return this.#total + (this.#began === undefined ? 0 : performance.now() - this.#began);
  }
}
