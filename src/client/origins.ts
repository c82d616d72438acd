import { backoff } from "../core/backoff.js";
import { fraction, type Random } from "../core/random.js";

/** So many failures in a row are an outage. */
export const OUTAGE = 5;
const BASE = 1000;
const CAP = 30_000;

/** Whether an origin answered, as far as an attempt can tell. */
export type Health = "answered" | "failed" | "unknown";

interface Standing {
  /** Failures in a row. */
  failures: number;
  /** How often the breaker has opened without a success in between. */
  opened: number;
  /** While open: when the next probe may go. */
  probeAt: number;
  /** How many attempts may run at once; `Infinity` when all is well. */
  room: number;
  active: number;
  /** The server's clock and ours, at the latest speaking answer. */
  told: { readonly server: number; readonly at: number } | undefined;
}

/**
 * What is known of each origin: its outages and its clock.
 *
 * An outage opens a breaker: one probe at a time. The first success lets two attempts in, and every round of successes
 * one more, so that a recovering server is not run over by all who waited.
 */
export class Origins {
  readonly #origins = new Map<string, Standing>();
  readonly #random: Random;
  readonly #full: number;
  /** What our clock showed last. */
  #seen = 0;

  /** @param full - the number of attempts at which an origin counts as recovered */
  constructor(random: Random, full: number) {
    this.#random = random;
    this.#full = full;
  }

  /** How many more attempts may start now. */
  room(origin: string, now: number): number {
    const standing = this.#origins.get(origin);
    if (!standing) return Number.POSITIVE_INFINITY;
    if (standing.failures < OUTAGE) return Math.floor(standing.room) - standing.active;
    return standing.active === 0 && this.wait(origin, now) === 0 ? 1 : 0;
  }

  /** Origins that admit nothing now, and the least room among the recovering ones. */
  survey(now: number): { closed: string[]; room: number; next: number | undefined } {
    const closed: string[] = [];
    let room = Number.POSITIVE_INFINITY;
    let next: number | undefined;
    for (const origin of this.#origins.keys()) {
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
    const wait = (this.#origins.get(origin)?.probeAt ?? now) - now;
    // A longer wait than was ever set means that the clock has jumped back.
    return wait > 0 && wait <= CAP ? wait : 0;
  }

  enter(origin: string): void {
    this.#of(origin).active++;
  }

  /** @returns whether an outage begins with it */
  leave(origin: string, now: number, health: Health): boolean {
    const standing = this.#of(origin);
    standing.active--;
    if (health === "failed") {
      standing.failures++;
      if (standing.failures < OUTAGE) return false;
      standing.opened++;
      standing.room = 1;
      standing.probeAt = now + Math.max(BASE / 2, backoff(standing.opened, BASE, CAP, fraction(this.#random)));
      return standing.failures === OUTAGE;
    }
    if (health === "answered") {
      standing.failures = 0;
      standing.opened = 0;
      standing.room += 1 / Math.floor(standing.room);
      if (standing.room >= this.#full) standing.room = Number.POSITIVE_INFINITY;
    }
    return false;
  }

  learnClock(origin: string, server: number, at: number): void {
    this.#of(origin).told = { server, at };
  }

  /** The server's clock now, if a speaking answer has told it and our own has not been put back since. */
  serverTime(origin: string, now: number): number | undefined {
    if (now < this.#seen) for (const standing of this.#origins.values()) standing.told = undefined;
    this.#seen = now;
    const told = this.#origins.get(origin)?.told;
    return told && told.server + now - told.at;
  }

  #of(origin: string): Standing {
    const found = this.#origins.get(origin);
    if (found) return found;
    const fresh = {
      failures: 0,
      opened: 0,
      probeAt: 0,
      room: Number.POSITIVE_INFINITY,
      active: 0,
      told: undefined,
    };
    this.#origins.set(origin, fresh);
    return fresh;
  }
}
