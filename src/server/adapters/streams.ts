import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";

/**
 * The whole body, or undefined where it is larger than `limit` bytes. Whatever is left of it stays in the stream.
 *
 * @throws what the stream throws, as when the client goes away
 */
export async function readAtMost(stream: Readable, limit: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop must not cut the connection: the refusal has to get through.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** The bytes of whatever Fastify is about to send. */
export async function bytesFrom(payload: unknown): Promise<Buffer | null> {
  if (payload === undefined || payload === null) return null;
  if (typeof payload === "string") return Buffer.from(payload);
  if (payload instanceof Uint8Array) return Buffer.from(payload);
  if (payload instanceof Response) return Buffer.from(await payload.arrayBuffer());
  const chunks: Uint8Array[] = [];
  for await (const chunk of payload as AsyncIterable<Uint8Array>) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
