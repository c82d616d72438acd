import type { Answer } from "./answer.js";
import type { Connection } from "./driver.js";

/** What a handler receives. */
export interface Execution<C extends Connection = Connection> {
  /** The transaction's own connection. Only what is done on it is undone with it. Never commit or release it. */
  readonly tx: C;
  /** The key, unquoted. */
  readonly key: string;
  readonly tenant: string;
  readonly scope: string;
  /** Aborts at the handler's deadline. */
  readonly signal: AbortSignal;
}

/** The work to be done once: runs inside the transaction that also stores its answer. */
export type Handler<C extends Connection = Connection> = (execution: Execution<C>) => Promise<Answer> | Answer;

/** The handler threw, or did not end in time: nothing was stored, and the transaction is to be undone. */
export class HandlerFailure extends Error {
  readonly late: boolean;

  constructor(late: boolean, cause?: unknown) {
    super("the handler failed", { cause });
    this.late = late;
  }
}

/**
 * Runs the handler until its deadline.
 *
 * @param timeout - ms.
 * @throws HandlerFailure and nothing else.
 */
export async function handle<C extends Connection>(
  handler: Handler<C>,
  execution: Omit<Execution<C>, "signal">,
  timeout: number,
): Promise<Answer> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new HandlerFailure(true));
      controller.abort(new DOMException("the handler's deadline has passed", "TimeoutError"));
    }, timeout);
  });
  try {
    return await Promise.race([deadline, handler({ ...execution, signal: controller.signal })]);
  } catch (error) {
    throw error instanceof HandlerFailure ? error : new HandlerFailure(false, error);
  } finally {
    clearTimeout(timer);
  }
}
