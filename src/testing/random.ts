import type { Random } from "../core/random.js";

/**
 * A source of random bytes that repeats itself: the same seed gives the same bytes for ever, so that a failing test
 * can be run again. Not for secrets.
 *
 * @param seed - any number or text
 */
export function seededRandom(seed: number | string): Random {
  let state = hash(String(seed));
  return (size) => Uint8Array.from({ length: size }, () => next() >>> 24);

  // splitmix32
  function next(): number {
    state = (state + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }
}

/** FNV-1a: neighbouring seeds begin far apart. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h;
}
