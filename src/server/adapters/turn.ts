import type { Answer, Outcome } from "../answer.js";
import { deferred } from "../deferred.js";
import type { Execution, Handler } from "../handler.js";

/** A route's turn at a key: from where it may begin to where its answer is known. */
export interface Turn<Tx> {
  /** Undefined where the route is not to run: the outcome is known without it. */
  readonly execution: Execution<Tx> | undefined;
  /** What is to be sent, once it is known. Before the route answered only if it was not to run, or ran out of time. */
  readonly outcome: Promise<Outcome>;
  /** Hands the route's answer to the waiting transaction. The first counts. */
  readonly answer: (answer: Answer) => void;
  /** Says what the route failed with, in the place of an answer. */
  readonly fail: (error: unknown) => void;
}

/**
 * The engine's handler, turned inside out: it begins where this resolves, and ends where the route answers. For
 * frameworks whose route is no function that returns its answer. Such a route runs once: tell `run` so (`rerun`).
 *
 * @throws what `run` throws before the route could begin
 */
export async function begin<Tx>(run: (handler: Handler<Tx>) => Promise<Outcome>): Promise<Turn<Tx>> {
  const started = deferred<Execution<Tx> | undefined>();
  const answered = deferred<Answer>();
  let begun = false;
  const outcome = run((execution) => {
    // If the route's effects were undone, recording its answer a second time would lose them.
    if (begun) throw new Error("the route cannot be run again");
    begun = true;
    started.resolve(execution);
    return answered.promise;
  });
  outcome.then(() => started.resolve(undefined), started.reject);
  return { execution: await started.promise, outcome, answer: answered.resolve, fail: answered.reject };
}

/** Whether the route answered this itself: then it goes out whole, cookies and all. */
export function isOwn({ kind }: Outcome): boolean {
  return kind === "executed" || kind === "released" || kind === "unprotected";
}
