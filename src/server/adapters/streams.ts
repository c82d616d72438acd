import { Buffer } from "node:buffer";
import { pipeline, type Readable, Transform } from "node:stream";

/** Passes the body on to the parser, and keeps what it passes. The parser's size limit limits both. */
export function tap(payload: Readable, chunks: Uint8Array[]): Readable {
  const kept = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      chunks.push(chunk);
      done(null, chunk);
    },
  });
  // Where a decoder sits in front, it tells the parser here how many bytes came over the wire.
  Object.defineProperty(kept, "receivedEncodedLength", { get: () => Reflect.get(payload, "receivedEncodedLength") });
  return pipeline(payload, kept, () => {});
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

/** A promise, and the means to settle it from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** `Promise.withResolvers`, which Node 20 lacks. */
export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>["resolve"];
  let reject!: Deferred<T>["reject"];
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
