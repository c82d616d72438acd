import { MisuseError } from "../errors.js";
import type { AnyDatabase, ConnectionOf } from "./driver.js";
import { Idempotency } from "./idempotency.js";
import { type IdempotencyOptions, resolveOptions } from "./options.js";
import { sessionsOf } from "./sessions/open.js";

/**
 * Makes the engine. Does no I/O: call `migrate()` at start.
 *
 * ```ts
 * const idempotency = createIdempotency({ db: new Pool(), retention: "24h" });
 * await idempotency.migrate();
 * ```
 *
 * @throws MisuseError `bad_option`
 */
export function createIdempotency<D extends AnyDatabase, R = unknown>(
  options: IdempotencyOptions<D, R>,
): Idempotency<ConnectionOf<D>, R> {
  const sessions = sessionsOf<ConnectionOf<D>>(options.db);
  if (sessions === undefined) {
    throw new MisuseError("bad_option", {
      detail: "`db` must be a pg Pool, a postgres Sql, or an object with the functions `transaction` and `query`",
    });
  }
  return new Idempotency(sessions, resolveOptions(options));
}
