/** An error with a code, as Node's network errors are. */
export function coded(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

/** What fetch throws when no response comes; with a code, as Node's fetch throws it. */
export function networkError(code?: string): TypeError {
  return code === undefined
    ? new TypeError("Failed to fetch")
    : new TypeError("fetch failed", { cause: coded(`connect ${code}`, code) });
}

/** The response with half of its body, after which reading goes as `end` does. Without a body it stays whole. */
export async function brokenStream(response: Response, end: () => Promise<unknown>): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status, statusText, headers } = response;
  if (bytes.length === 0) return new Response(null, { status, statusText, headers });
  let part: Uint8Array | undefined = bytes.subarray(0, Math.floor(bytes.length / 2));
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!part) {
          await end();
          return controller.close();
        }
        controller.enqueue(part);
        part = undefined;
      },
    },
    // Nothing is read ahead: an error would throw away what is still in the queue.
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, statusText, headers });
}

const PIECE: Uint8Array<ArrayBuffer> = new Uint8Array(65_536).fill(32);

/** The response with spaces behind its body, until it has so many bytes. */
export async function paddedStream(response: Response, bytes: number): Promise<Response> {
  const { status, statusText, headers } = response;
  let piece = new Uint8Array(await response.arrayBuffer());
  let left = Math.max(bytes, piece.length);
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A copy: it is whoever reads it who has it then.
        controller.enqueue(piece.slice(0, left));
        left -= piece.length;
        piece = PIECE;
        if (left <= 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, statusText, headers });
}
