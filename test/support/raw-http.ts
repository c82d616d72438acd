import { once } from "node:events";
import { type OutgoingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

/** A response as it came, its body not decoded. */
export interface RawResponse {
  readonly status: number;
  /** Every line of a header that came. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array | readonly (string | Uint8Array)[];
}

/** Sends one request and takes the response as it is: nothing is followed, decoded or joined. A list is sent in chunks. */
export async function send(
  url: string,
  { method = "POST", headers = {}, body = "" }: RawRequest,
): Promise<RawResponse> {
  const sent = request(url, { method, headers, agent: false });
  if (Array.isArray(body)) {
    for (const chunk of body) sent.write(chunk);
    sent.end();
  } else {
    sent.end(body as string | Uint8Array);
  }
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headersDistinct, body: Buffer.concat(chunks) };
}

/** Writes text to a connection, as it is, and gives what comes until the server closes. */
export async function exchange(url: string, text: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}
