import type { OperationRecord } from "../../core/record.js";
import { StoreError } from "../../errors.js";

/** Throws unless `condition` holds. */
export function ok(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`store contract: ${what}`);
}

/** Throws unless both are alike: plain values and the bytes of buffers; an absent property is an undefined one. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const found = plain(actual);
  const wanted = plain(expected);
  if (found !== wanted) throw new Error(`store contract: ${what}\n  expected ${wanted}\n  found    ${found}`);
}

/** Throws unless `promise` rejects; gives the error. */
export async function fails(promise: Promise<unknown>, what: string): Promise<unknown> {
  const outcome = await promise.then(
    () => ({ error: undefined }),
    (error: unknown) => ({ error }),
  );
  ok(outcome.error !== undefined, `${what}: expected a rejection`);
  return outcome.error;
}

/** Throws unless `promise` rejects with a `StoreError`. */
export async function failsAsStore(promise: Promise<unknown>, what: string): Promise<StoreError> {
  const error = await fails(promise, what);
  ok(error instanceof StoreError, `${what}: expected a StoreError, found ${String(error)}`);
  return error;
}

/** Ids, which is all that most cases look at. */
export const ids = (records: readonly OperationRecord[]): string[] => records.map(({ id }) => id);

/** Text with keys in order, so that equal values have equal text. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (inner instanceof ArrayBuffer) return `${inner.byteLength} bytes: ${digest(inner)}`;
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** FNV-1a, and the first bytes for people: `crypto.subtle` is not there on plain http. */
function digest(buffer: ArrayBuffer): string {
  const bytes = new Uint8Array(buffer);
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return `${(hash >>> 0).toString(16)} ${[...bytes.slice(0, 8)].join(" ")}`;
}
