/** Reads a body to its end, or no further than a limit. */

type Reader = Pick<ReadableStreamDefaultReader<unknown>, "read" | "cancel">;

/** What can be read once only. */
export function isStream(given: unknown): given is ReadableStream | AsyncIterable<unknown> {
  // Not every browser's stream is iterable.
  return Symbol.asyncIterator in Object(given) || "getReader" in Object(given);
}

/** Packages may have a stream of Node's there. */
export function readerOf(body: ReadableStream | AsyncIterable<unknown>): Reader {
  return ("getReader" in body ? body : streamOf(body)).getReader();
}

/** What is iterated, as a stream. */
export function streamOf(given: AsyncIterable<unknown>): ReadableStream {
  const source = given[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? new TextEncoder().encode(value) : value);
    },
    cancel: () => void source.return?.(),
  });
}

/**
 * All bytes in one piece; `undefined` where there are more than `limit`. What is left then, or when something throws, is
 * let go of.
 *
 * @param check - called after every piece: throws where nobody waits for the rest
 */
export async function readBounded(reader: Reader, limit: number, check?: () => void): Promise<ArrayBuffer | undefined> {
  // Not a list of pieces: of a byte each, they would take up a hundred times what they hold.
  let whole = new Uint8Array(0);
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      check?.();
      if (done) return (size < whole.length ? whole.slice(0, size) : whole).buffer;
      if (!ArrayBuffer.isView(value)) throw new TypeError("a chunk is no bytes");
      const end = size + value.byteLength;
      if (end > limit) break;
      if (end > whole.length) {
        const grown = new Uint8Array(Math.min(limit, Math.max(end, 2 * size)));
        grown.set(whole.subarray(0, size));
        whole = grown;
      }
      // A copy: the source may use its buffer again.
      whole.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), size);
      size = end;
    }
  } catch (error) {
    stop(reader);
    throw error;
  }
  stop(reader);
  return undefined;
}

function stop(reader: Reader): void {
  reader.cancel().catch(() => {});
}

/** The body of a response that nobody has read yet; `undefined` where it has more bytes than `limit`. */
export async function readResponse(
  response: Response,
  limit: number,
  check?: () => void,
): Promise<ArrayBuffer | undefined> {
  const { body, bodyUsed } = response;
  if (isStream(body) && !bodyUsed) return readBounded(readerOf(body), limit, check);
  // None, none left, or none of a platform without streams.
  const whole = await response.arrayBuffer();
  return whole.byteLength > limit ? undefined : whole;
}

/** Its connection is free again. Libraries like node-fetch have a stream of Node's there, which has to be read to its end. */
export function letGo({ body }: Response): void {
  const stream = body as { cancel?(): Promise<void>; resume?(): void } | null;
  if (stream?.cancel) stream.cancel().catch(() => {});
  else stream?.resume?.();
}
