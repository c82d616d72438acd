/** The key as it stands in the header, and as it is stored. */
import { boundTime } from "./sql/partitions.js";

/** A usable key, or why there is none. */
export type ParsedKey =
  | { readonly key: string }
  | { readonly error: "idempotency_key_missing" | "idempotency_key_invalid" };

const visibleAscii = /^[\x21-\x7e]{1,255}$/;
// RFC 9651: a String, and the parameters that any item may have.
const text = String.raw`"(?:[ !#-\[\]-~]|\\["\\])*"`;
const parameter = String.raw`${text}|-?\d+(?:\.\d+)?|@-?\d+|\?[01]|:[A-Za-z\d+/=]*:|%"[ !#-~]*"|[A-Za-z*][\w!#$%&'*+.^\x60|~:/-]*`;
const stringItem = new RegExp(`^(${text})(?:; *[a-z*][a-z\\d_.*-]*(?:=(?:${parameter}))?)*$`);
const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Reads an `Idempotency-Key` header: bare or as a quoted string (the form of the IETF draft), which are the same key.
 * Parameters behind a quoted one mean nothing: none is defined. A key is 1–255 visible ASCII characters. More than one
 * header line is an error, whether the lines come as a list or joined by the framework with `", "`.
 */
export function parseKey(header: string | readonly string[] | null | undefined): ParsedKey {
  const lines = typeof header === "string" ? [header] : (header ?? []);
  if (lines.length === 0) return { error: "idempotency_key_missing" };
  // Not trimmed: HTTP does that. A comma at an end is what joining leaves of a second line that is empty.
  const [value = ""] = lines.length === 1 ? lines : [];
  if (value.startsWith(",") || value.endsWith(",")) return { error: "idempotency_key_invalid" };
  const key = value.startsWith('"') ? stringItem.exec(value)?.[1]?.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  return key !== undefined && visibleAscii.test(key) ? { key } : { error: "idempotency_key_invalid" };
}

/**
 * The stored form. It sorts by time for a v7 UUID (`7` + its 32 hex digits), so that a range of keys is a range of
 * days; any other key is `o` + the key. Only the canonical lower-case spelling counts as v7: every key has exactly
 * one stored form, and no two keys share one.
 */
export function sortableKey(key: string): string {
  return uuidV7.test(key) ? `7${key.replaceAll("-", "")}` : `o${key}`;
}

/** When a key was minted by its stored form, ms since 1970; null where it does not tell. */
export function mintedAt(sortable: string): number | null {
  return sortable.startsWith("7") ? boundTime(sortable) : null;
}
