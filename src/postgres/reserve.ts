import { isFatal } from "./fatal.js";
import { closeLost } from "./watch.js";

/** A pool such as `postgres` has. */
interface Reserving<C> {
  reserve(): Promise<C>;
}

/** ms. */
const patience = 500;

/** How many connections may bring up an old error, one after the other. */
const tries = 3;

/**
 * Reserves a connection. `postgres` (3.4) forgets a reservation that waits while another connection closes, as when the
 * database restarts: whoever waits asks again, and what is granted too late is given back. It also keeps the fatal error that
 * ended a connection, and throws it again at whoever it opens that connection for next; it then takes the connection for
 * handed over, so that nobody gets it any more unless it is closed once again.
 */
export function reserve<C extends { release(): void }>(pool: Reserving<C>): Promise<C> {
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
      pool.reserve().then(
        (connection) => (settle() ? resolve(connection) : connection.release()),
        (error) => {
          misled ||= isFatal(error);
          if (waiting && left > 1 && isFatal(error)) ask(left - 1);
          else if (settle()) reject(error);
        },
      );
    };
    const again = setInterval(() => {
      if (misled) closeLost(pool);
      ask(1);
    }, patience);
    ask(tries);
  });
}
