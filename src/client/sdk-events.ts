import type { OperationRecord } from "../core/record.js";
import type { StorageFigures } from "../store.js";

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
