import type { ReservedConnection, ReservingDatabase } from "../driver.js";
import { isFatal } from "../failure.js";

/** What is used of the driver's own view of a connection. */
export interface DriverConnection {
  /** Told that it was closed. */
  onclose: (() => void) | null;
  /** Set while somebody has it reserved. */
  readonly reserved: unknown;
  terminate(): void;
}

/** ms. */
const patience = 500;

/** How many connections may bring up an old error, one after the other. */
const tries = 3;

const lost = new WeakMap<object, Set<DriverConnection>>();

/** The connections of a pool that were closed under a transaction, and have not had another one since. */
export function lostOf(db: object): Set<DriverConnection> {
  const known = lost.get(db) ?? new Set();
  lost.set(db, known);
  return known;
}

/**
 * Reserves a connection. `postgres` (3.4) forgets a reservation that waits while another connection closes, as when the
 * database restarts: whoever waits asks again, and what is granted too late is given back. It also keeps the fatal error that
 * ended a connection, and throws it again at whoever it opens that connection for next; it then takes the connection for
 * handed over, so that nobody gets it any more unless it is closed once again.
 */
export function reserve<C extends ReservedConnection>(db: ReservingDatabase<C>): Promise<C> {
  return new Promise((resolve, reject) => {
    let waiting = true;
    let misled = false;
    const settle = (): boolean => {
      const first = waiting;
      waiting = false;
      clearInterval(again);
      return first;
    };
    const ask = (left: number): void => {
      db.reserve().then(
        (connection) => (settle() ? resolve(connection) : connection.release()),
        (error) => {
          misled ||= isFatal(error);
          if (waiting && left > 1 && isFatal(error)) ask(left - 1);
          else if (settle()) reject(error);
        },
      );
    };
    const again = setInterval(() => {
      if (misled) for (const connection of lostOf(db)) if (!connection.reserved) connection.terminate();
      ask(1);
    }, patience);
    ask(tries);
  });
}
