import type { Random } from "../core/random.js";
import { MisuseError } from "../errors.js";

const POOL = 4096;
let pool = new Uint8Array(0);
let used = 0;

/**
 * Random bytes from `crypto.getRandomValues`, which is there on plain http too, unlike `randomUUID`.
 *
 * @throws MisuseError `bad_option` where there is none: a guessable or repeated key would be worse
 */
export const secureRandom: Random = (size) => {
  const source = globalThis.crypto;
  if (typeof source?.getRandomValues !== "function") {
    throw new MisuseError("bad_option", { detail: "there is no crypto.getRandomValues here; pass `random`" });
  }
  // One call for many keys: the call costs more than the bytes.
  if (used + size > pool.byteLength) {
    pool = source.getRandomValues(new Uint8Array(Math.max(POOL, size)));
    used = 0;
  }
  const bytes = pool.slice(used, used + size);
  used += size;
  return bytes;
};
