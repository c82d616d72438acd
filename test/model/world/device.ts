import type { Channel, Holder, Message } from "../../../src/client/platform-port.js";
import { mintUuid } from "../../../src/core/key.js";
import type { Dice } from "./dice.js";
import type { Process } from "./process.js";
import type { World } from "./world.js";

interface Listener {
  readonly process: Process;
  readonly receive: (message: Message) => void;
}

interface Watch {
  readonly process: Process;
  readonly holder: string;
  readonly gone: () => void;
}

/** What the clients share besides the store: a channel on which news gets lost, and who holds leases. */
export class Device {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #listeners = new Set<Listener>();
  readonly #holders = new Map<string, Process>();
  readonly #watches = new Set<Watch>();

  constructor(world: World) {
    this.#world = world;
    this.#dice = world.dice.fork("device");
  }

  openChannel(process: Process, receive: (message: Message) => void): Channel {
    const own: Listener = { process, receive };
    this.#listeners.add(own);
    return {
      post: (message) => {
        for (const listener of this.#listeners) if (listener !== own) void this.#carry(message, listener);
      },
      close: () => this.#listeners.delete(own),
    };
  }

  createHolder(process: Process, now: number): Holder {
    const { surveys, watches } = this.#world.weather.platform;
    const id = mintUuid("v7", now, this.#dice.bytes);
    this.#holders.set(id, process);
    return {
      id,
      survey: async () => {
        const here = new Set(this.#holders.keys());
        return (holder) => surveys && !here.has(holder);
      },
      ...(surveys &&
        watches && {
          watch: (holder: string, gone: () => void) => {
            const isWatched = [...this.#watches].some((watch) => watch.process === process && watch.holder === holder);
            if (!isWatched && this.#holders.has(holder)) this.#watches.add({ process, holder, gone });
          },
        }),
      release: () => this.#leave(id),
    };
  }

  /** The process is dead: its listeners are gone, and who waits for that hears of it. */
  bury(process: Process): void {
    for (const listener of this.#listeners) if (listener.process === process) this.#listeners.delete(listener);
    for (const [id, holder] of this.#holders) if (holder === process) this.#leave(id);
  }

  #leave(id: string): void {
    this.#holders.delete(id);
    for (const watch of this.#watches) {
      if (watch.holder !== id) continue;
      this.#watches.delete(watch);
      void this.#later(watch.process, watch.gone);
    }
  }

  async #later(process: Process, task: () => void): Promise<void> {
    await this.#world.pause(3);
    process.enter(task);
  }

  async #carry(message: Message, { process, receive }: Listener): Promise<void> {
    if (!this.#world.calm && this.#dice.chance(this.#world.weather.platform.deaf)) return;
    await this.#world.pause(this.#dice.between(1, 20));
    process.enter(() => receive(message));
  }
}
