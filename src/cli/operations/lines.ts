/** Records as lines of JSON: to carry them from one store to another. */

import { Buffer } from "node:buffer";
import { whole } from "../../core/fields.js";
import { checkKey } from "../../core/key.js";
import { mayBeSent, presumedSent } from "../../core/presumed-sent.js";
import { isUncertain, type NewRecord, type OperationRecord, STATES } from "../../core/record.js";

/** Raised only when an older samekey could no longer read the lines. */
const FORMAT = 1;

interface Part {
  readonly body?: ArrayBuffer | undefined;
}

/** A whole record: bodies, headers and all. */
export function lineOf(record: OperationRecord): string {
  return JSON.stringify({
    samekey: FORMAT,
    ...record,
    request: written(record.request),
    ...(record.response && { response: written(record.response) }),
  });
}

/**
 * The record of a line, as another store may take it.
 *
 * What it was copied from may have gone on since: whatever may still be sent counts as sent, from the moment its key was
 * made, and nobody holds it.
 *
 * @param moved - nothing uses the store that it comes from any more
 * @throws Error that says what is wrong with the line
 */
export function recordOfLine(line: string, moved: boolean): NewRecord {
  const { samekey, seq, rev, ...read } = parse(line);
  if (samekey !== FORMAT) throw new Error(`it is no operation of format ${FORMAT} (\`"samekey": ${FORMAT}\`)`);
  const record = whole({
    ...read,
    request: restored(read.request),
    response: read.response && restored(read.response),
    lease: undefined,
    parked: undefined,
  }) as unknown as NewRecord;
  check(record);
  if (!moved && mayBeSent(record) && !isUncertain(record) && record.wire.mint !== "never") {
    throw new Error("it may get another key where it comes from; stop what uses that store, then say --moved");
  }
  return presumedSent(record);
}

type Read = Omit<OperationRecord, "request" | "response"> & {
  readonly samekey?: unknown;
  readonly request: WrittenPart & OperationRecord["request"];
  readonly response?: (WrittenPart & NonNullable<OperationRecord["response"]>) | undefined;
};

interface WrittenPart {
  readonly base64?: string | undefined;
}

function parse(line: string): Read {
  let read: unknown;
  try {
    read = JSON.parse(line);
  } catch (error) {
    throw new Error(`it is not JSON: ${(error as Error).message}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error("it is not a JSON object");
  return read as Read;
}

function written({ body, ...part }: Part): object {
  return body ? { ...part, base64: Buffer.from(body).toString("base64") } : part;
}

function restored<P extends WrittenPart & Part>(part: P): Omit<P, "base64"> {
  const { base64, ...rest } = (part ?? {}) as P;
  if (base64 === undefined) return rest;
  const bytes = Buffer.from(base64, "base64");
  if (bytes.toString("base64") !== base64) throw new Error("its body is not base64");
  return { ...rest, body: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) };
}

/** What would otherwise come to light at the first attempt, or never. */
function check(record: NewRecord): void {
  const { v, id, key, keyAt, state, name, owner, origin, request, wire, createdAt, fence } = record;
  if (v !== 1) throw new Error(`its version is ${JSON.stringify(v)}, this samekey knows 1`);
  checkKey(id);
  checkKey(key);
  if (!STATES.includes(state)) throw new Error(`${JSON.stringify(state)} is no state`);
  for (const [field, value] of Object.entries({ name, owner, origin, method: request.method, url: request.url })) {
    if (typeof value !== "string" || value === "") throw new Error(`its \`${field}\` is not a text`);
  }
  for (const [field, value] of Object.entries({ keyAt, createdAt, fence, retention: wire?.retention })) {
    if (!Number.isFinite(value)) throw new Error(`its \`${field}\` is not a number`);
  }
  if (!URL.canParse(request.url) || new URL(request.url).origin !== origin) {
    throw new Error("its URL is not at its origin");
  }
}
