import type { Clock } from "../store.js";
import type { Platform } from "./platform-port.js";

/** Operations that wait for a time to come, or for someone who wakes them. The platform does, when it has been away. */
export class Sleepers {
  readonly #clock: Clock;
  readonly #platform: Pick<Platform, "onWake">;
  readonly #sleepers = new Map<string, AbortController>();
  /** Woken while they did not sleep: what they have just looked at may have changed. */
  readonly #woken = new Set<string>();
  #stopWaking: (() => void) | undefined;

  constructor(clock: Clock, platform: Pick<Platform, "onWake">) {
    this.#clock = clock;
    this.#platform = platform;
  }

  /** Until the time is over, in milliseconds, or someone wakes this id. By a background timer. */
  async sleep(ms: number, id: string): Promise<void> {
    if (ms <= 0 || this.#woken.delete(id)) return;
    const sleeper = new AbortController();
    this.#sleepers.set(id, sleeper);
    this.#stopWaking ??= this.#platform.onWake(() => this.wakeAll());
    await this.#clock.sleep(ms, sleeper.signal, true).catch(() => {});
    if (this.#sleepers.get(id) === sleeper) this.#sleepers.delete(id);
    if (this.#sleepers.size > 0) return;
    this.#stopWaking?.();
    this.#stopWaking = undefined;
  }

  /** Ends its sleep, or keeps it from the next one. */
  wake(id: string): void {
    const sleeper = this.#sleepers.get(id);
    if (sleeper) sleeper.abort();
    else this.#woken.add(id);
  }

  wakeAll(): void {
    for (const sleeper of this.#sleepers.values()) sleeper.abort();
  }

  /** Forgets that it was woken: it looks now, or has ended. */
  clear(id: string): void {
    this.#woken.delete(id);
  }
}
