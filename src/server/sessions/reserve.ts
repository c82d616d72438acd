import type { ReservedConnection, ReservingDatabase } from "../driver.js";

/** ms. */
const patience = 500;

/**
 * Reserves a connection. `postgres` (3.4) forgets a reservation that waits while another connection closes, as when the
 * database restarts: whoever waits asks again, and what is granted too late is given back.
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
    const ask = (): void => {
      db.reserve().then(
        (connection) => (settle() ? resolve(connection) : connection.release()),
        (error) => settle() && reject(error),
      );
    };
    const again = setInterval(ask, patience);
    ask();
  });
}
