import type { StorageFigures } from "../store.js";
import type { Emitter } from "./events.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";

/** How safe what is stored is, and how much room there is for more. What is not known is absent. */
export interface StorageStatus extends StorageFigures {
  /** Whether records survive the process. */
  readonly durable: boolean;
}

/** So little is never enough, in bytes: a few bodies, and what a store needs to tidy up. */
const LEAST = 16 * 1024 * 1024;
/** After so many records it is looked at again. */
const EVERY = 1000;

/** Looks at how much room there is, and tells once when it runs short. */
export class Room {
  readonly #options: ResolvedOptions;
  readonly #journal: Journal;
  readonly #emitter: Emitter;
  #saved = 0;
  #told = false;

  constructor(options: ResolvedOptions, journal: Journal, emitter: Emitter) {
    this.#options = options;
    this.#journal = journal;
    this.#emitter = emitter;
    emitter.on("saved", () => {
      // What cannot be read now is read later; nothing depends on it.
      if (this.#saved++ % EVERY === 0) this.look().catch(() => {});
    });
  }

  /** @throws StoreError */
  async look(): Promise<StorageStatus> {
    const store = await this.#journal.open();
    const figures = (await store.storage?.()) ?? {};
    const isLow = runsShort(figures);
    if (isLow && !this.#told) {
      this.#options.log({ level: "warn", message: "little room left" });
      this.#emitter.emit("storagelow", { name: this.#options.name, ...figures });
    }
    this.#told = isLow;
    return { durable: store.durable, ...figures };
  }
}

/** Less than a tenth of what is used could still be added, or so little that a few bodies fill it. */
function runsShort({ usage, quota }: StorageFigures): boolean {
  return usage !== undefined && quota !== undefined && quota - usage < Math.max(LEAST, usage / 10);
}
