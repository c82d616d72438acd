import type { Clock, Store } from "../store.js";

/**
 * The life of one instance of an app. All that the instance does to the world goes through it; when it ends, nothing
 * that was under way comes back, and nothing new goes out, just as after a killed process.
 */
export class Life {
  readonly #end = new AbortController();

  end(): void {
    this.#end.abort();
  }

  clock(clock: Clock): Clock {
    const sleep: Clock["sleep"] = (ms, signal, background) => {
      const either = signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal;
      return clock.sleep(ms, either, background);
    };
    return { now: () => clock.now(), sleep: this.#bound(sleep) };
  }

  fetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
    return this.#bound((...args: Parameters<typeof fetch>) => fetch(...args));
  }

  store(store: Store): Store {
    const verb = <A extends unknown[], T>(run: (...args: A) => Promise<T>) => this.#bound(run.bind(store));
    return {
      durable: store.durable,
      open: verb(store.open),
      insert: verb(store.insert),
      claim: verb(store.claim),
      update: verb(store.update),
      get: verb(store.get),
      find: verb(store.find),
      head: verb(store.head),
      page: verb(store.page),
      prunable: verb(store.prunable),
      counts: verb(store.counts),
      relieve: verb(store.relieve),
      ...(store.storage && { storage: verb(store.storage) }),
      close: verb(store.close),
    };
  }

  /** The function, whose promises stay open for ever once the life has ended. */
  #bound<A extends unknown[], T>(run: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    const { signal } = this.#end;
    return (...args) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return;
        run(...args).then(
          (value) => signal.aborted || resolve(value),
          (error) => signal.aborted || reject(error),
        );
      });
  }
}
