import { Buffer } from "node:buffer";
import { type OperationRecord, type Sealed, wasApplied, windowEnd } from "../../core/record.js";

/** A body as JSON can hold it. */
export type BodyView = { readonly text: string } | { readonly base64: string };

/**
 * A record for `--json`: all of it but its headers and bodies, which hold what customers wrote, unless these are asked for;
 * and the two questions that are asked of every dead letter.
 */
export function view(record: OperationRecord, bodies: boolean): object {
  const { request, response, ...rest } = record;
  return {
    ...rest,
    mayHaveBeenApplied: wasApplied(record) !== "no",
    keyUntil: windowEnd(record) ?? null,
    request: shown(request, bodies),
    ...(response && { response: shown(response, bodies) }),
  };
}

interface Part {
  readonly headers: object;
  readonly body?: ArrayBuffer | undefined;
  readonly sealed?: Sealed | undefined;
}

function shown(part: Part, bodies: boolean): object {
  const { headers, body, ...rest } = part;
  return {
    ...rest,
    bytes: body?.byteLength ?? 0,
    ...(bodies && { headers, ...(body && !part.sealed && { body: bodyView(body) }) }),
  };
}

/** Text where it is UTF-8, else base64. */
export function bodyView(body: ArrayBuffer): BodyView {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { base64: Buffer.from(body).toString("base64") };
  }
}
