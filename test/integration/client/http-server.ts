import type { IncomingMessage, ServerResponse } from "node:http";
import { type Loopback, serve } from "../../support/loopback.js";

export interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly bytes: Buffer;
}

export interface HttpServer extends Loopback {
  readonly requests: readonly Seen[];
}

/** A real server that answers as told once a request's whole body has arrived. */
export async function startHttpServer(
  answer: (seen: Seen, response: ServerResponse, request: IncomingMessage) => void,
  port = 0,
): Promise<HttpServer> {
  const requests: Seen[] = [];
  const server = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, url, headers, rawHeaders } = request;
    const bytes = Buffer.concat(chunks);
    const seen = { method, url, headers, rawHeaders, body: bytes.toString(), bytes };
    requests.push(seen);
    answer(seen, response, request);
  }, port);
  return { ...server, requests };
}
