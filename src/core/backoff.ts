/** How attempts are spaced and bounded. Lengths in milliseconds. */
export interface RetryPolicy {
  /** The most attempts that are made; `Infinity` for as many as the key's life allows. */
  readonly attempts: number;
  readonly base: number;
  /** The longest wait while someone waits. */
  readonly cap: number;
  /** The longest wait in the background. */
  readonly backgroundCap: number;
}

/** @internal */
export const defaultRetry: RetryPolicy = Object.freeze({
  attempts: Number.POSITIVE_INFINITY,
  base: 500,
  cap: 30_000,
  backgroundCap: 15 * 60_000,
});

/**
 * Full-jitter exponential backoff: anywhere between nothing and the bound that doubles with every attempt.
 *
 * @param attempt - the attempt that failed, from 1
 * @param fraction - a random number in [0, 1)
 */
export function backoff(attempt: number, base: number, cap: number, fraction: number): number {
  return Math.round(fraction * Math.min(cap, base * 2 ** Math.min(attempt - 1, 30)));
}
