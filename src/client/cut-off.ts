import type { HeaderReader } from "../core/retry-after.js";

/**
 * Answers that were cut off, and look whole. Where a body ends with its connection, `fetch` cannot tell its end from a loss;
 * nor does it complain of half of something packed.
 */

const [QUOTE, BACKSLASH] = [34, 92];
/** `[`, `]`, `{` and `}`. */
const depths: Readonly<Record<number, number>> = { 91: 1, 93: -1, 123: 1, 125: -1 };

/** What stands before a body. */
interface Head {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: HeaderReader;
}

/** Whether JSON begins that does not end, where no length tells that it is all. */
export function isCutOff({ ok, status, headers }: Head, body: ArrayBuffer): boolean {
  const isJson = /[/+]json\b/i.test(headers.get("content-type") ?? "");
  if (!isJson || headers.get("content-length") === String(body.byteLength)) return false;
  if (body.byteLength === 0) return ok && status !== 204 && status !== 205;
  return isOpen(new Uint8Array(body));
}

/** Whether a string, a list or an object is still open at the end. */
function isOpen(json: Uint8Array): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at++;
    else if (!isText) depth += depths[byte] ?? 0;
  }
  return isText || depth > 0;
}
