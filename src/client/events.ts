import type { SdkEvents } from "./sdk-events.js";
import type { LogEntry } from "./types.js";

/** Calls listeners; one that throws is logged and harms nobody. */
export class Emitter {
  readonly #listeners = new Map<keyof SdkEvents, Set<(detail: never) => void>>();
  readonly #log: (entry: LogEntry) => void;

  constructor(log: (entry: LogEntry) => void) {
    this.#log = log;
  }

  /** Calls any listener in that manner. */
  call(listener: () => void): void {
    const failed = (cause: unknown): void => this.#log({ level: "error", message: "a listener failed", cause });
    try {
      heard(listener(), failed);
    } catch (cause) {
      failed(cause);
    }
  }

  on<E extends keyof SdkEvents>(event: E, listener: (detail: SdkEvents[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  emit<E extends keyof SdkEvents>(event: E, detail: SdkEvents[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      this.call(() => (listener as (detail: SdkEvents[E]) => void)(detail));
    }
  }
}

/** One that is asynchronous is not waited for. Unheard, its rejection would end the process. */
export function heard<T>(answer: T, failed: (cause: unknown) => void): T {
  if (answer instanceof Promise) answer.catch(failed);
  return answer;
}
