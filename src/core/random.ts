/** A source of random bytes: answers with exactly `size` of them. */
export type Random = (size: number) => Uint8Array;

/** A number in [0, 1) with 32 random bits. */
export function fraction(random: Random): number {
  const [a = 0, b = 0, c = 0, d = 0] = random(4);
  return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) / 2 ** 32;
}
