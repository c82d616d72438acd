import { keyOfSealedHash, type OperationRecord, type Sealed } from "../core/record.js";
import { StoreError } from "../errors.js";

/** What is sealed, under which key, and why it stays closed here. */
export function sealedText(what: string, { key, why = "and this program has no `seal`" }: Sealed): string {
  return `${what} is sealed under key ${JSON.stringify(key)}, ${why}`;
}

/**
 * Refuses a record that cannot be worked with while a part of it stays closed.
 *
 * @throws StoreError `sealed`, naming the key
 */
export function mustBeOpen(record: OperationRecord): void {
  const { request, response, hash } = record;
  const key = keyOfSealedHash(hash);
  const ofHash = key === undefined ? undefined : { key, why: "which does not open it" };
  const sealed = request.sealed ?? response?.sealed ?? ofHash;
  if (sealed) throw new StoreError("sealed", { record, detail: sealedText("it", sealed) });
}
