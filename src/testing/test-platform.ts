import type { Channel, Holder, Message, Platform } from "../client/platform-port.js";
import { mintUuid } from "../core/key.js";
import type { Random } from "../core/random.js";
import { provesUnsent } from "../platform/unsent.js";
import type { Clock } from "../store.js";
import { memoryStore } from "../stores/memory.js";

/** What the instances of one test share besides the store, as the tabs of one browser do. */
export class TestDevice {
  readonly #listeners: Set<(message: Message) => void> = new Set();
  readonly #wakes: Set<() => void> = new Set();
  readonly #holders: Set<string> = new Set();
  #offline = false;

  /** Nobody who was here is here any more: their leases are known to be dead. */
  clear(): void {
    this.#listeners.clear();
    this.#wakes.clear();
    this.#holders.clear();
  }

  setOffline(offline: boolean): void {
    this.#offline = offline;
    if (!offline) for (const wake of [...this.#wakes]) wake();
  }

  platform(clock: Clock, random: Random): Platform {
    return {
      clock,
      random,
      telemetry: [],
      concurrency: 32,
      pollEvery: 60_000,
      seesRedirects: true,
      provesUnsent: (error) => provesUnsent(error, false),
      defaultStore: memoryStore,
      defaultBaseUrl: () => undefined,
      isOffline: () => this.#offline,
      onWake: (wake) => {
        this.#wakes.add(wake);
        return () => this.#wakes.delete(wake);
      },
      openChannel: (_, receive) => this.#openChannel(receive),
      createHolder: () => this.#createHolder(clock, random),
      digest: async (bytes) => `fnv:${fnv(bytes, 0x811c9dc5)}${fnv(bytes, 0x7ee3623b)}`,
    };
  }

  #openChannel(receive: (message: Message) => void): Channel {
    this.#listeners.add(receive);
    return {
      post: (message) => {
        for (const listener of this.#listeners) if (listener !== receive) queueMicrotask(() => listener(message));
      },
      close: () => this.#listeners.delete(receive),
    };
  }

  #createHolder(clock: Clock, random: Random): Holder {
    const id = mintUuid("v7", clock.now(), random);
    this.#holders.add(id);
    return {
      id,
      survey: async () => (holder) => !this.#holders.has(holder),
      release: () => this.#holders.delete(id),
    };
  }
}

/** Good enough to tell a test's bodies apart, and done at once, which `crypto.subtle` is not. */
function fnv(bytes: Uint8Array, seed: number): string {
  let hash = seed;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
