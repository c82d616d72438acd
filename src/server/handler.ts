import type { Answer } from "./answer.js";
import type { Connection } from "./driver.js";

/** What a handler receives. */
export interface Execution<Tx = Connection> {
  /** The transaction's own connection. Only what is done on it is undone with it. Never commit or release it. */
  readonly tx: Tx;
  /** The key, unquoted. Where the request has none and needs none, a random one that nobody else sees. */
  readonly key: string;
  readonly tenant: string;
  readonly scope: string;
  /** Aborts at the handler's deadline. */
  readonly signal: AbortSignal;
  /**
   * The key for a call to another system: the same whenever this operation is repeated, and no other's.
   *
   * @param step - names the call within the operation, a constant such as `"charge"`
   */
  derive(step: string): string;
}

/** The work to be done once: runs inside the transaction that also stores its answer. */
export type Handler<Tx = Connection> = (execution: Execution<Tx>) => Promise<Answer> | Answer;

/** The work threw, or did not end in time: nothing was stored, and the transaction is to be undone. */
export class HandlerFailure extends Error {
  /** Past its deadline: it may still be at work. */
  readonly late: boolean;
  /** Settles when the work has ended. */
  readonly handled: Promise<unknown>;

  constructor(late: boolean, handled: Promise<unknown>, cause?: unknown) {
    super("the handler failed", { cause });
    this.late = late;
    this.handled = handled;
  }
}

/** When a handler's time is up. */
export class Deadline {
  #controller: AbortController | undefined;
  #passed = false;

  /** Made for those who look at it: most handlers do not, and one costs as much as a statement's result. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#passed) this.#abort();
    return this.#controller.signal;
  }

  pass(): void {
    this.#passed = true;
    this.#abort();
  }

  #abort(): void {
    this.#controller?.abort(new DOMException("the handler's deadline has passed", "TimeoutError"));
  }
}

/**
 * Does the work until its deadline.
 *
 * @param timeout - ms.
 * @throws HandlerFailure and nothing else.
 */
export async function handle<T>(work: (deadline: Deadline) => Promise<T>, timeout: number): Promise<T> {
  const deadline = new Deadline();
  const handled = work(deadline);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new HandlerFailure(true, handled));
      deadline.pass();
    }, timeout);
    handled.then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error) => {
        clearTimeout(timer);
        reject(new HandlerFailure(false, handled, error));
      },
    );
  });
}
