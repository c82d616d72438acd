import { backoff } from "../core/backoff.js";
import { fraction, type Random } from "../core/random.js";

/** So many failures in a row are an outage. */
const OUTAGE = 5;
const BASE = 1000;
const CAP = 30_000;

interface Health {
  /** Failures in a row. */
  failures: number;
  /** How often the breaker has opened without a success in between. */
  opened: number;
  /** While open: when the next probe may go. */
  probeAt: number;
  /** How many attempts may run at once; `Infinity` when all is well. */
  room: number;
  active: number;
  /** The server's clock minus ours, from the latest speaking answer. */
  skew: number | undefined;
}

/**
 * What is known of each origin: its outages and its clock.
 *
 * An outage opens a breaker: one probe at a time. The first success lets two attempts in, and every further one one
 * more, so that a recovering server is not run over by all who waited.
 */
export class Origins {
  readonly #health = new Map<string, Health>();
  readonly #random: Random;
  readonly #full: number;

  /** @param full - the number of attempts at which an origin counts as recovered */
  constructor(random: Random, full: number) {
    this.#random = random;
    this.#full = full;
  }

  /** How many more attempts may start now. */
  room(origin: string, now: number): number {
    const health = this.#health.get(origin);
    if (!health) return Number.POSITIVE_INFINITY;
    if (health.failures < OUTAGE) return health.room - health.active;
    return health.active === 0 && this.wait(origin, now) === 0 ? 1 : 0;
  }

  /** Origins that admit nothing now, and the least room among the recovering ones. */
  survey(now: number): { closed: string[]; room: number; next: number | undefined } {
    const closed: string[] = [];
    let room = Number.POSITIVE_INFINITY;
    let next: number | undefined;
    for (const origin of this.#health.keys()) {
      const here = this.room(origin, now);
      if (here <= 0) closed.push(origin);
      else room = Math.min(room, here);
      const wait = this.wait(origin, now);
      if (wait > 0) next = Math.min(next ?? Number.POSITIVE_INFINITY, now + wait);
    }
    return { closed, room, next };
  }

  /** How long until the origin may admit an attempt again, at least. */
  wait(origin: string, now: number): number {
    const wait = (this.#health.get(origin)?.probeAt ?? now) - now;
    // A longer wait than was ever set means that the clock has jumped back.
    return wait > 0 && wait <= CAP ? wait : 0;
  }

  enter(origin: string): void {
    this.#of(origin).active++;
  }

  /** @param outcome - whether the origin answered, as far as the attempt can tell */
  leave(origin: string, now: number, outcome: "answered" | "failed" | "unknown"): void {
    const health = this.#of(origin);
    health.active--;
    if (outcome === "failed") {
      health.failures++;
      if (health.failures < OUTAGE) return;
      health.opened++;
      health.room = 1;
      health.probeAt = now + Math.max(BASE / 2, backoff(health.opened, BASE, CAP, fraction(this.#random)));
    } else if (outcome === "answered") {
      health.failures = 0;
      health.opened = 0;
      health.room = health.room + 1 >= this.#full ? Number.POSITIVE_INFINITY : health.room + 1;
    }
  }

  learnClock(origin: string, serverDate: number, now: number): void {
    this.#of(origin).skew = serverDate - now;
  }

  /** The server's clock now, if a speaking answer has told it. */
  serverTime(origin: string, now: number): number | undefined {
    const skew = this.#health.get(origin)?.skew;
    return skew === undefined ? undefined : now + skew;
  }

  #of(origin: string): Health {
    const found = this.#health.get(origin);
    if (found) return found;
    const fresh = {
      failures: 0,
      opened: 0,
      probeAt: 0,
      room: Number.POSITIVE_INFINITY,
      active: 0,
      skew: undefined,
    };
    this.#health.set(origin, fresh);
    return fresh;
  }
}
