import type { OperationRecord } from "../core/record.js";

/**
 * The URL that a server, or a profile, names for an operation: `undefined` unless it is at the operation's origin, where its
 * credentials belong, and brings none of its own, which `fetch` refuses.
 *
 * @param base - what it is relative to. @defaultValue the request's own URL
 */
export function placeAt(
  { origin, request }: OperationRecord,
  place: string,
  base: string = request.url,
): string | undefined {
  const url = URL.canParse(place, base) ? new URL(place, base) : undefined;
  return url?.origin === origin && !url.username && !url.password ? url.href : undefined;
}
