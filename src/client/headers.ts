import type { OperationRecord } from "../core/record.js";
import { MisuseError } from "../errors.js";
import type { ResolvedOperation } from "./options.js";
import type { HeaderMap } from "./types.js";

/** What the headers of one request are made from. */
export interface Asking {
  readonly operation: ResolvedOperation;
  /** The origin to which `headers()` applies. */
  readonly baseOrigin: string | undefined;
  /** Headers that tell where an attempt stands in a trace: all others go before them. */
  readonly traced?: Headers | undefined;
  /** Headers of the call that were not kept. */
  readonly transient?: Headers | undefined;
  readonly url: string;
  readonly signal: AbortSignal;
}

/** Kept headers, those of the call, and fresh credentials; `null` where there are none. */
export async function headersFor(record: OperationRecord, asking: Asking): Promise<Headers | null> {
  const { operation, baseOrigin, traced, transient, url, signal } = asking;
  const { request, owner, name, id } = record;
  const headers = new Headers(traced);
  for (const [of, value] of Object.entries(request.headers)) headers.set(of, value);
  const isBase = record.origin === baseOrigin;
  merge(headers, transient);
  if (operation.headers && isBase) {
    const given = await operation.headers({ owner, name, url, id, attempt: record.attempts, signal });
    if (given === null) return null;
    merge(headers, toHeaders(given, "headers()", record));
  }
  if (request.contentType !== undefined) headers.set("content-type", request.contentType);
  // With cookies the browser decides who is asking; this lets the server compare.
  if (isBase && request.credentials && request.credentials !== "omit")
    headers.set("samekey-owner", encodeURIComponent(owner));
  return headers;
}

/** What the platform sets by itself: it refuses them on every attempt, with an error that passes for a lost one. */
const ofPlatform = /^(content-length|transfer-encoding|connection|host|keep-alive|upgrade|te|trailer|expect)$/i;

/**
 * Headers as a program gave them. The platform's own error is not passed on: it quotes the value.
 *
 * @throws MisuseError `bad_option`, naming the header
 */
export function toHeaders(given: HeaderMap | Headers | undefined, what: string, record?: OperationRecord): Headers {
  const headers = new Headers();
  if (given !== undefined && typeof given !== "object") {
    throw new MisuseError("bad_option", { detail: `\`${what}\` is no object of headers`, record });
  }
  for (const [name, value] of given instanceof Headers ? given : Object.entries(given ?? {})) {
    try {
      if (value === undefined) continue;
      if (ofPlatform.test(name)) throw name;
      headers.append(name, value);
    } catch {
      const detail = `\`${what}\` holds a header ${JSON.stringify(name)} whose name or value no program can send`;
      throw new MisuseError("bad_option", { detail, record });
    }
  }
  return headers;
}

function merge(into: Headers, from: Headers | undefined): void {
  for (const [name, value] of from ?? []) into.set(name, value);
}
