import { StoreError } from "../../errors.js";

/** Names of errors by which a connection that has died, or lost its object stores, makes itself known. */
const lost = ["InvalidStateError", "UnknownError", "AbortError", "NotFoundError"];

/** Whether opening the database again may help. */
export function isLost(error: unknown): boolean {
  return error instanceof DOMException && lost.includes(error.name);
}

/** Whether the database did not answer in time, which it will not do for each of many verbs either. */
export function isStall(error: unknown): boolean {
  return error instanceof StoreError && (error.code === "stalled" || error.code === "not_durable");
}

/** The browser's errors as the port's; those of functions that were passed in stay as they are. */
export async function toStoreError(error: unknown): Promise<unknown> {
  if (!(error instanceof DOMException)) return error;
  if (error.name !== "QuotaExceededError") {
    return new StoreError("unavailable", { detail: `${error.name}: ${error.message}`, cause: error });
  }
  // Disks are reported as full that are not, so the figures are told and nothing is evicted.
  const { usage, quota } = (await globalThis.navigator?.storage?.estimate?.().catch(() => undefined)) ?? {};
  const detail = quota === undefined ? error.message : `${usage} of ${quota} bytes are used`;
  return new StoreError("store_full", { detail, cause: error });
}
