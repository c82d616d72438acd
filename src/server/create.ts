import type { Connection } from "./driver.js";
import { Idempotency } from "./idempotency.js";
import type { IdempotencyOptions } from "./options.js";

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
export function createIdempotency<C extends Connection, R = unknown>(
  options: IdempotencyOptions<C, R>,
): Idempotency<C, R> {
  return new Idempotency(options);
}
