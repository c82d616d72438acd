import { changed } from "./fields.js";
import { hasOutcome, type NewRecord } from "./record.js";

/**
 * What a copy of a store has to make of a record, since the store that it was copied from may have gone on: whatever may
 * still be sent counts as sent since its key was made, and nobody holds it.
 */
export function presumedSent<R extends NewRecord>(record: R): R {
  if (!mayBeSent(record)) return record;
  const { keyAt, sentAt = keyAt, uncertainSince = sentAt, fence } = record;
  return changed(record, { fence: fence + 1, lease: undefined, mark: undefined, sentAt, uncertainSince });
}

/** Whether it is not over, or was given up by nobody yet. */
export function mayBeSent(record: NewRecord): boolean {
  return !hasOutcome(record) || (record.state === "unresolved" && record.resolution === undefined);
}
