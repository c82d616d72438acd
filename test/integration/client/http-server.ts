import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly bytes: Buffer;
}

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly Seen[];
  close(): Promise<void>;
}

/** A real server that answers as told once a request's whole body has arrived. */
export async function startHttpServer(
  answer: (seen: Seen, response: ServerResponse, request: IncomingMessage) => void,
  port = 0,
): Promise<HttpServer> {
  const requests: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, url, headers, rawHeaders } = request;
    const bytes = Buffer.concat(chunks);
    const seen = { method, url, headers, rawHeaders, body: bytes.toString(), bytes };
    requests.push(seen);
    answer(seen, response, request);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
