import type { OperationRecord } from "../core/record.js";
import type { StorageFigures } from "../store.js";
import type { LogEntry } from "./types.js";

/** What an Sdk tells its listeners, by event. */
export interface SdkEvents {
  /** An operation was recorded durably. */
  saved: OperationRecord;
  /** An attempt begins. */
  attempt: OperationRecord;
  /** An attempt ended without an outcome; the next is planned. */
  retry: OperationRecord;
  blocked: OperationRecord;
  /** An outcome is known. */
  settled: OperationRecord;
  /** Given up with the outcome unknown. */
  unresolved: OperationRecord;
  /** Someone else is signed in than at the last look, or `previous` signed out, here or in another tab. */
  ownerchange: { readonly owner: string | undefined; readonly previous: string | undefined };
  /** The browser evicted the store: operations recorded before are forgotten. */
  storereset: { readonly name: string };
  /** Little room is left: less than a tenth of what is used, or less than 16 MiB. Told once, until there is more again. */
  storagelow: StorageFigures & { readonly name: string };
}

/** The names of {@link SdkEvents}. */
export const EVENTS: readonly (keyof SdkEvents)[] = [
  "saved",
  "attempt",
  "retry",
  "blocked",
  "settled",
  "unresolved",
  "ownerchange",
  "storereset",
  "storagelow",
];

/** Calls listeners; one that throws is logged and harms nobody. */
export class Emitter {
  readonly #listeners = new Map<keyof SdkEvents, Set<(detail: never) => void>>();
  readonly #log: (entry: LogEntry) => void;

  constructor(log: (entry: LogEntry) => void) {
    this.#log = log;
  }

  /** Calls any listener in that manner. */
  call(listener: () => void): void {
    try {
      listener();
    } catch (cause) {
      this.#log({ level: "error", message: "a listener failed", cause });
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
