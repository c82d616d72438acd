/** Answers that were cut off and look whole to Node's fetch. */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startTransfers } from "./transfers.js";

const answer = JSON.stringify({ id: "tr_1", text: "x".repeat(4000) });
const half = answer.slice(0, 2000);
const packed = gzipSync(answer).subarray(0, -12);

/** Writes past the server's own framing. */
function raw(response: ServerResponse, headers: readonly string[], body: string | Uint8Array): Socket {
  const { socket } = response;
  if (!socket) throw new Error("the connection is gone");
  socket.write(["HTTP/1.1 201 Created", "content-type: application/json", ...headers, "", ""].join("\r\n"));
  if (body.length > 0) socket.write(body);
  return socket;
}

/** The client has what was written before it is reset. */
function reset(socket: Socket): void {
  setTimeout(() => socket.resetAndDestroy(), 50);
}

test.each<[string, (response: ServerResponse) => void]>([
  ["a packed answer without its end", (r) => raw(r, ["content-encoding: gzip"], packed).end()],
  [
    "a packed answer whose length is that of what is there",
    (r) => raw(r, ["content-encoding: gzip", `content-length: ${packed.length}`, "connection: close"], packed).end(),
  ],
  ["a body that ends with its connection", (r) => raw(r, [], half).end()],
  ["a body whose connection is reset", (r) => reset(raw(r, [], half))],
  ["a connection that is reset before the body", (r) => reset(raw(r, [], ""))],
  [
    "a chunk that is cut off on a connection that is to be closed",
    (r) => raw(r, ["transfer-encoding: chunked", "connection: close"], `fa0\r\n${half}`).end(),
  ],
])("%s: one more request under the same key brings the answer", async (_, cutOff) => {
  let isFirst = true;
  const { server, sdk } = await startTransfers((_, response) => {
    if (isFirst) cutOff(response);
    else {
      const replayed = { "idempotency-status": "replayed", "idempotency-replayed": "true" };
      response.writeHead(201, { "content-type": "application/json", ...replayed }).end(answer);
    }
    isFirst = false;
  });
  const result = await sdk.operation("transfer", { amount: 1 }).send();
  expect(result).toMatchObject({ data: JSON.parse(answer), source: "replayed", attempts: 1 });
  const keys = server.requests.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toEqual([result.key, result.key]);
});
