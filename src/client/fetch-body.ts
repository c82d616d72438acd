import { tagOf } from "../core/body.js";
import { MisuseError } from "../errors.js";
import { isStream, readBounded, readerOf, streamOf } from "./read-bounded.js";

/** A body of `fetch`, read to its end. */
export interface ReadBody {
  readonly bytes: ArrayBuffer;
  /** What the platform would send as `content-type`, unless the caller says otherwise. */
  readonly contentType: string | null;
}

/** What the reading of a body keeps to. */
export interface ReadLimits {
  readonly maxBody: number;
  /** Ends the reading, as nothing is recorded yet. */
  readonly signal: AbortSignal | undefined;
  readonly digest: (bytes: Uint8Array<ArrayBuffer>) => Promise<string>;
}

/** Whether a body cannot be frozen within the call: it has to be read. */
export function isReadLater(body: unknown): boolean {
  return /^(Request|FormData|Blob|File)$/.test(tagOf(body)) || isStream(body);
}

/**
 * Reads a form, a blob, a stream or what is in a `Request`. What the caller may still change is taken within the call.
 *
 * @throws MisuseError `body_not_replayable`
 */
export async function readBody(given: unknown, { maxBody, signal, digest }: ReadLimits): Promise<ReadBody> {
  const { body, headers } = open(given);
  const contentType = headers.get("content-type");
  // Of what it does not know the platform sends the name.
  if (tagOf(given) === "FormData" && !contentType?.startsWith("multipart/"))
    refuse("it is no FormData of the platform's");
  // Not every browser has `request.body`.
  const whole = body === undefined ? new Response(await (given as Request).arrayBuffer()).body : body;
  const reader = whole && readerOf(whole);
  const stop = (): void => void reader?.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  let bytes: ArrayBuffer | undefined;
  try {
    bytes = reader ? await readBounded(reader, maxBody, () => signal?.throwIfAborted()) : new ArrayBuffer(0);
  } catch (cause) {
    if (signal?.aborted) throw cause;
    refuse(`it failed before its end: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
  if (!bytes) refuse(`it has more bytes than \`maxBody\` allows (${maxBody})`);
  return settleBoundary({ bytes, contentType }, digest);
}

/** The platform itself serialises and names the type; but not every one takes an iterable. */
function open(given: unknown): Pick<Response, "body" | "headers"> {
  const tag = tagOf(given);
  try {
    const source =
      tag === "Request"
        ? (given as Request)
        : new Response(
            isStream(given) && tag !== "ReadableStream"
              ? streamOf(given as AsyncIterable<unknown>)
              : (given as BodyInit),
          );
    if (!source.bodyUsed && !source.body?.locked) return source;
  } catch {
    // A stream that someone else reads, or has read.
  }
  return refuse("it has been used already, or is being read by someone else");
}

/**
 * The platform separates the parts of a form by a boundary of its own making, another one each time. One that follows from
 * the form itself makes the same form the same bytes: an intent or a key meets it again after a reload.
 */
async function settleBoundary(read: ReadBody, digest: ReadLimits["digest"]): Promise<ReadBody> {
  const boundary = /boundary=(----(?:WebKitFormB|formdata-undici-|geckoformb)\w+)$/.exec(read.contentType ?? "")?.[1];
  if (!boundary) return read;
  const body = new Uint8Array(read.bytes);
  const places = find(body, new TextEncoder().encode(boundary));
  for (const at of places) body.fill(0, at, at + boundary.length);
  const digits = (await digest(body)).replace(/[^0-9a-f]/g, "").repeat(3);
  const settled = `----samekey${digits}`.slice(0, boundary.length);
  for (const at of places) body.set(new TextEncoder().encode(settled), at);
  return { bytes: read.bytes, contentType: `multipart/form-data; boundary=${settled}` };
}

function find(bytes: Uint8Array, sought: Uint8Array): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(45); at !== -1; at = bytes.indexOf(45, at + 1)) {
    if (sought.every((byte, index) => bytes[at + index] === byte)) places.push(at);
  }
  return places;
}

/** @throws MisuseError `body_not_replayable` */
export function refuse(detail: string, cause?: unknown): never {
  throw new MisuseError("body_not_replayable", { detail: `\`body\` cannot be kept: ${detail}`, cause });
}
