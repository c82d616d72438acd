import { type Duration, toMs } from "../core/durations.js";
import type { Clock } from "../store.js";
import { turn } from "./turn.js";

/** Turns of the event loop without any use of the clock after which everything counts as waiting. */
const QUIET_TURNS = 10;
/** Turns, or sleeps of nothing, after which something runs in a loop. */
const RUNAWAY = 100_000;

/** Options of {@link createVirtualClock}. */
export interface VirtualClockOptions {
  /** The time at the beginning, in milliseconds since the Unix epoch. @defaultValue 2026-01-01T00:00:00Z */
  readonly start?: number | undefined;
  /**
   * Waits, in real time, until all real work is done that virtual time must not overtake.
   * The default lets the event loop turn until nobody has used the clock for ten turns, which covers memory stores and
   * mock servers; with real I/O (files, IndexedDB, workers) wait for that here.
   */
  readonly settle?: (() => Promise<void>) | undefined;
}

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/**
 * A clock on which time passes only when told to. Whoever sleeps on it wakes in order, and everything that follows from
 * one waking has run before the next.
 */
export class VirtualClock implements Clock {
  readonly #start: number;
  readonly #settle: () => Promise<void>;
  /** Monotonic: jumps do not touch it. */
  #elapsed = 0;
  #jumped = 0;
  /** By due time; equal times in order of arrival. */
  readonly #sleepers: Sleeper[] = [];
  #uses = 0;
  #zeros = 0;
  #advancing = false;

  /** Use {@link createVirtualClock}. */
  constructor(options: VirtualClockOptions = {}) {
    this.#start = options.start ?? Date.UTC(2026, 0, 1);
    this.#settle = options.settle ?? (() => this.#quiet());
  }

  /** The wall clock, in milliseconds since the Unix epoch. */
  now(): number {
    this.#uses += 1;
    return this.#start + this.#elapsed + this.#jumped;
  }

  /**
   * Waits for `ms` of virtual time, rounded up. A wait of nothing does not need {@link advance}.
   *
   * @throws Error after 100,000 waits of nothing at one instant: something runs in a loop.
   */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.#uses += 1;
    signal?.throwIfAborted();
    if (!(ms > 0)) {
      this.#zeros += 1;
      if (this.#zeros > RUNAWAY) throw new Error(`a loop: ${RUNAWAY} sleeps of nothing without time passing`);
      await turn();
      return signal?.throwIfAborted();
    }
    await new Promise<void>((resolve, reject) => {
      const sleeper = { due: this.#elapsed + Math.ceil(ms), wake };
      const abort = () => {
        this.#uses += 1;
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
        reject(signal?.reason);
      };
      function wake() {
        signal?.removeEventListener("abort", abort);
        resolve();
      }
      signal?.addEventListener("abort", abort, { once: true });
      const after = this.#sleepers.findIndex((other) => other.due > sleeper.due);
      this.#sleepers.splice(after < 0 ? this.#sleepers.length : after, 0, sleeper);
    });
  }

  /** How many sleep. */
  get pending(): number {
    return this.#sleepers.length;
  }

  /** The same time without the {@link jump}s: what everybody else's clocks show. */
  get steady(): Clock {
    return {
      now: () => this.now() - this.#jumped,
      sleep: (ms, signal) => this.sleep(ms, signal),
    };
  }

  /**
   * Lets time pass and wakes everyone whose time has come, in order; what they start may sleep and wake within the same
   * call.
   *
   * @throws Error when the clock is used for 100,000 turns of the event loop without anyone sleeping.
   */
  async advance(duration: Duration): Promise<void> {
    if (this.#advancing) throw new Error("the virtual clock is already advancing: await the earlier call first");
    this.#advancing = true;
    try {
      const end = this.#elapsed + toMs(duration, "duration");
      await this.#settle();
      for (let next = this.#next(end); next; next = this.#next(end)) {
        this.#moveTo(next.due);
        this.#sleepers.shift();
        next.wake();
        await this.#settle();
      }
      this.#moveTo(end);
    } finally {
      this.#advancing = false;
    }
  }

  /**
   * Lets time pass, as much as is needed, until `promise` settles; answers with what it settles to.
   *
   * @param atMost - virtual time after which the test has failed
   * @throws Error when nobody sleeps any more, or `atMost` has passed, and the promise is still open.
   */
  async until<T>(promise: PromiseLike<T>, atMost: Duration = "30d"): Promise<T> {
    let open = true;
    const close = () => {
      open = false;
    };
    promise.then(close, close);
    const end = this.#elapsed + toMs(atMost, "atMost");
    await this.advance(0);
    while (open) {
      const next = this.#next(end);
      if (!next) throw new Error(this.pending > 0 ? `still open after ${atMost}` : "nobody sleeps, so this stays open");
      await this.advance(next.due - this.#elapsed);
    }
    return promise;
  }

  /** Moves the wall clock only, as a user or NTP does: sleepers keep the length of their sleep. Negative is back. */
  jump(ms: number): void {
    this.#jumped += ms;
  }

  #next(end: number): Sleeper | undefined {
    const [first] = this.#sleepers;
    return first && first.due <= end ? first : undefined;
  }

  #moveTo(elapsed: number): void {
    if (elapsed > this.#elapsed) this.#zeros = 0;
    this.#elapsed = elapsed;
  }

  async #quiet(): Promise<void> {
    let turns = 0;
    for (let quiet = 0; quiet < QUIET_TURNS; turns += 1) {
      if (turns > RUNAWAY) throw new Error(`a loop: the clock was used in ${RUNAWAY} turns without anyone sleeping`);
      const before = this.#uses;
      await turn();
      quiet = this.#uses === before ? quiet + 1 : 0;
    }
  }
}

/** A {@link VirtualClock}: pass it as `clock` to whatever shall run in virtual time. */
export function createVirtualClock(options?: VirtualClockOptions): VirtualClock {
  return new VirtualClock(options);
}
