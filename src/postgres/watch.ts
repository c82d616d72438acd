/** What is used of the own view that `postgres` has of a connection. */
interface DriverConnection {
  /** Told that it was closed. */
  onclose: (() => void) | null;
  /** Set while somebody has it reserved. */
  readonly reserved: unknown;
  terminate(): void;
}

/** By pool: the connections that were closed under a watch, and have not been under another one since. */
const lost = new WeakMap<object, Set<DriverConnection>>();

function lostOf(pool: object): Set<DriverConnection> {
  const known = lost.get(pool) ?? new Set();
  lost.set(pool, known);
  return known;
}

/** Closes the connections of a pool that were lost, and may hang between the driver and nobody since. */
export function closeLost(pool: object): void {
  for (const connection of lostOf(pool)) if (!connection.reserved) connection.terminate();
}

/**
 * Watches over a reserved connection. `postgres` tells nobody that one was closed; what is asked of it then ends the
 * process or waits for ever, and giving it back would spoil the pool. Its own transactions learn of it in this way.
 */
export class Watch {
  /** Options of the first statement, which must have no values. */
  readonly options: object;
  /** Rejects when the connection is closed. Statements behind another one are forgotten by the driver then. */
  readonly closed: Promise<never>;
  #lost = false;
  #connection: DriverConnection | undefined;

  constructor(pool: object) {
    let close: (error: Error) => void;
    this.closed = new Promise((_, reject) => {
      close = reject;
    });
    this.closed.catch(() => {});
    const onexecute = (connection: DriverConnection): boolean => {
      this.#connection = connection;
      lostOf(pool).delete(connection);
      connection.onclose = () => {
        this.#lost = true;
        lostOf(pool).add(connection);
        close(closedError());
      };
      return true;
    };
    this.options = { onexecute };
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Before the connection is given back. */
  end(): void {
    if (this.#connection !== undefined) this.#connection.onclose = null;
  }
}

/** As the driver says it. */
export function closedError(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "CONNECTION_CLOSED" });
}
