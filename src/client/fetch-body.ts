import { MisuseError } from "../errors.js";

/** A body of `fetch`, read to its end. */
export interface ReadBody {
  readonly bytes: ArrayBuffer;
  /** What the platform would send as `content-type`, unless the caller says otherwise. */
  readonly contentType: string | undefined;
}

/** What the reading of a body keeps to. */
export interface ReadLimits {
  readonly maxBody: number;
  /** Ends the reading, as nothing is recorded yet. */
  readonly signal: AbortSignal | undefined;
  readonly digest: (bytes: Uint8Array<ArrayBuffer>) => Promise<string>;
}

interface Source {
  next(): Promise<IteratorResult<unknown>>;
  stop(): unknown;
}

/** What `Object.prototype.toString` calls a value: right for polyfills and other realms too. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/**
 * Reads what cannot be frozen within the call: a `Request`, a form, a blob, a stream. Answers `undefined` for everything
 * else. What the caller may still change (a form) is taken before this returns.
 *
 * @throws MisuseError `body_not_replayable` (as a rejection)
 */
export function readLater(body: unknown, limits: ReadLimits): Promise<ReadBody> | undefined {
  const tag = tagOf(body);
  if (tag === "Request") return readRequest(body as Request, limits);
  if (tag === "FormData") return readForm(body as FormData, limits);
  if (tag === "Blob" || tag === "File") return readBlob(body as Blob, limits);
  const isStream = tag === "ReadableStream" || Symbol.asyncIterator in Object(body);
  return isStream ? readStream(body, undefined, limits) : undefined;
}

async function readRequest(request: Request, limits: ReadLimits): Promise<ReadBody> {
  if (request.bodyUsed) refuse("the Request has been used already");
  // Not every browser has `request.body` to tell whether there is one.
  const { body = await request.arrayBuffer() } = request;
  const contentType = request.headers.get("content-type") ?? undefined;
  const chunks = body instanceof ArrayBuffer ? once(body) : body;
  const read = await readStream(chunks ?? once(new ArrayBuffer(0)), contentType, limits);
  return settleBoundary(read, limits);
}

async function readForm(form: FormData, limits: ReadLimits): Promise<ReadBody> {
  const { body, headers } = new Response(form);
  const contentType = headers.get("content-type") ?? "";
  // Of a polyfill the platform knows nothing but its name.
  if (!body || !contentType.startsWith("multipart/form-data")) {
    refuse("`body` is a FormData of another kind than the platform's: encode it first and pass the bytes");
  }
  return settleBoundary(await readStream(body, contentType, limits), limits);
}

async function readBlob(blob: Blob, { maxBody }: ReadLimits): Promise<ReadBody> {
  if (blob.size > maxBody) tooLarge(maxBody);
  const bytes = await blob.arrayBuffer().catch((cause: unknown) => refuse("the Blob cannot be read", cause));
  return { bytes, contentType: blob.type || undefined };
}

async function* once(chunk: ArrayBuffer): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(chunk);
}

async function readStream(
  stream: unknown,
  contentType: string | undefined,
  { maxBody, signal }: ReadLimits,
): Promise<ReadBody> {
  const source = open(stream);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal?.reason);
  });
  signal?.addEventListener("abort", abort);
  try {
    signal?.throwIfAborted();
    for (;;) {
      const { done, value } = await Promise.race([source.next(), aborted]);
      if (done) break;
      const chunk = typeof value === "string" ? new TextEncoder().encode(value) : bytesOf(value);
      size += chunk.byteLength;
      if (size > maxBody) tooLarge(maxBody);
      chunks.push(chunk);
    }
  } catch (cause) {
    source.stop();
    if (cause instanceof MisuseError || signal?.aborted) throw cause;
    refuse("the stream failed before its end", cause);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return { bytes: whole.buffer, contentType };
}

/** Not every browser can iterate over a `ReadableStream`. */
function open(stream: unknown): Source {
  if (tagOf(stream) !== "ReadableStream") {
    const iterator = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    return { next: () => iterator.next(), stop: () => void iterator.return?.().catch(() => {}) };
  }
  const { locked } = stream as ReadableStream;
  if (locked) refuse("the stream is being read by someone else, or has been");
  const reader = (stream as ReadableStream).getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    stop: () => void reader.cancel().catch(() => {}),
  };
}

/** A copy: the source may use its buffer again. */
function bytesOf(chunk: unknown): Uint8Array {
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength).slice();
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk).slice();
  return refuse(`the stream holds a ${tagOf(chunk)}, expected bytes`);
}

const platformBoundary = /boundary=(----(?:WebKitFormBoundary|formdata-undici-|geckoformboundary)\w+)$/;

/**
 * The platform separates the parts of a form by a boundary of its own making, another one each time. One that follows from
 * the form itself makes the same form the same bytes: an intent or a key meets it again after a reload.
 */
async function settleBoundary(read: ReadBody, { digest }: ReadLimits): Promise<ReadBody> {
  const boundary = platformBoundary.exec(read.contentType ?? "")?.[1];
  if (!boundary) return read;
  const body = new Uint8Array(read.bytes);
  const places = find(body, new TextEncoder().encode(boundary));
  for (const at of places) body.fill(0, at, at + boundary.length);
  const digits = (await digest(body)).replace(/[^0-9a-f]/g, "").repeat(3);
  const settled = `----samekey${digits}`.slice(0, boundary.length);
  const bytes = new TextEncoder().encode(settled);
  for (const at of places) body.set(bytes, at);
  return { bytes: read.bytes, contentType: read.contentType?.replace(boundary, settled) };
}

function find(bytes: Uint8Array, sought: Uint8Array): number[] {
  const places: number[] = [];
  const dash = sought[0] ?? 0;
  for (let at = bytes.indexOf(dash); at !== -1; at = bytes.indexOf(dash, at + 1)) {
    if (sought.every((byte, index) => bytes[at + index] === byte)) places.push(at);
  }
  return places;
}

function tooLarge(maxBody: number): never {
  refuse(`it has more bytes than \`maxBody\` allows (${maxBody})`);
}

function refuse(detail: string, cause?: unknown): never {
  throw new MisuseError("body_not_replayable", { detail, cause });
}
