import type { ConnectionOf, Database } from "./driver.js";
import { Idempotency } from "./idempotency.js";
import { type IdempotencyOptions, resolveOptions } from "./options.js";

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
export function createIdempotency<D extends Database, R = unknown>(
  options: IdempotencyOptions<D, R>,
): Idempotency<ConnectionOf<D>, R> {
  const resolved = resolveOptions(options);
  // The overloads of a pool's connect hide from the compiler that it is one that yields connections of this type.
  return new Idempotency(options.db as unknown as Database<ConnectionOf<D>>, resolved);
}
