import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { MisuseError } from "../../errors.js";

/**
 * The raw body, read and put back: parsers that come later find it untouched. Undefined where it is larger than `limit`
 * bytes.
 *
 * Where a parser came first, what it kept of the raw bytes counts: `request.rawBody`, as serverless platforms and
 * parsers' `verify` hooks leave it, or a `request.body` of bytes.
 *
 * @throws MisuseError `bad_option` where the bytes are gone
 */
export async function peekBody(
  request: IncomingMessage & { rawBody?: unknown; body?: unknown },
  limit: number,
): Promise<Uint8Array | undefined> {
  const kept = [request.rawBody, request.body].find((body) => body instanceof Uint8Array);
  const body = kept instanceof Uint8Array ? kept : await readAndPutBack(request, limit);
  const length = request.headers["content-length"];
  if (body !== undefined && kept === undefined && length !== undefined && Number(length) !== body.length)
    throw tooLate();
  return body !== undefined && body.length <= limit ? body : undefined;
}

async function readAndPutBack(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (request.readableDidRead || request.readableEnded) throw tooLate();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const gone = new AbortController();
  if (request.destroyed) gone.abort();
  request.once("close", () => gone.abort());
  for (;;) {
    // Once the last byte is read the stream ends within a tick, unless it is given something back before.
    while (request.readableLength > 0 && size <= limit) {
      const chunk: Uint8Array = request.read();
      chunks.push(chunk);
      size += chunk.length;
    }
    if (size > limit || (request.complete && request.readableLength === 0)) break;
    gone.signal.throwIfAborted();
    await once(request, "readable", { signal: gone.signal });
  }
  const body = Buffer.concat(chunks, size);
  if (size > 0) request.unshift(body);
  return size > limit ? undefined : body;
}

function tooLate(): MisuseError {
  return new MisuseError("bad_option", {
    detail:
      "the body was read before the idempotent route saw its bytes: mount body parsers after it, " +
      "or keep the bytes (express.json({ verify: (request, response, bytes) => { Object.assign(request, { rawBody: bytes }); } }))",
  });
}
