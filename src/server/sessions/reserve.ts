import type { ReservedConnection, ReservingDatabase } from "../driver.js";
import { isFatal } from "../failure.js";

/** ms. */
const patience = 500;

/** How many connections may bring up an old error, one after the other. */
const tries = 3;

/**
 * Reserves a connection. `postgres` (3.4) forgets a reservation that waits while another connection closes, as when the
 * database restarts: whoever waits asks again, and what is granted too late is given back. It also keeps the fatal error that
 * ended a connection, and throws it again at whoever it opens that connection for next.
 */
export function reserve<C extends ReservedConnection>(db: ReservingDatabase<C>): Promise<C> {
  return new Promise((resolve, reject) => {
    let waiting = true;
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
          if (waiting && left > 1 && isFatal(error)) ask(left - 1);
          else if (settle()) reject(error);
        },
      );
    };
    const again = setInterval(ask, patience, 1);
    ask(tries);
  });
}
