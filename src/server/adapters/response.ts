import { Buffer } from "node:buffer";
import { type ServerResponse, STATUS_CODES } from "node:http";
import process from "node:process";
import { type Answer, type HeaderInput, headerPairs, marks, type Outcome } from "../answer.js";
import { deferred } from "../deferred.js";
import { byName } from "./headers.js";
import { isOwn } from "./turn.js";

/** A response that is kept back until it is known what may be sent. */
export interface HeldResponse {
  /** What the route makes of it, whichever way it does so. Stays open where the route never ends its response. */
  readonly answer: Promise<Answer>;
  /** Sends `outcome`, in the place of whatever the route made. What a late route still writes goes nowhere. */
  send(outcome: Outcome): void;
  /** Forgets what the route made, and holds nothing back any more: an error handler is to answer. */
  release(): void;
}

/**
 * Holds back everything that is written to `response`. As nothing has been sent, `headersSent` stays false and an error
 * handler may still answer: an answer with another status takes the place of one that broke off.
 */
export function hold(response: ServerResponse): HeldResponse {
  const { writeHead, write, end, flushHeaders, destroy } = response;
  const before = byName(headerPairs(response.getHeaders()));
  for (const name of [...marks, "content-length"]) before.delete(name);
  const chunks: Buffer[] = [];
  let status: number | undefined;

  const keep = (chunk: unknown, encoding: unknown): void => {
    if (status !== response.statusCode) chunks.length = 0;
    status = response.statusCode;
    if (typeof chunk === "string") chunks.push(Buffer.from(chunk, encodingIn(encoding)));
    // Copied: the writer may use its memory again.
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };

  const ended = deferred<Answer>();
  Object.assign(response, {
    writeHead(code: number, ...rest: unknown[]) {
      response.statusCode = code;
      if (typeof rest[0] === "string") response.statusMessage = rest.shift() as string;
      for (const [name, values] of byName(headerPairs(given(rest[0])))) response.setHeader(name, values);
      return response;
    },
    flushHeaders() {},
    write(chunk: unknown, ...rest: unknown[]) {
      keep(chunk, rest[0]);
      const done = callbackIn(rest);
      if (done) process.nextTick(done);
      return true;
    },
    end(...rest: unknown[]) {
      keep(rest[0], rest[1]);
      const done = callbackIn(rest);
      if (done) response.once("finish", done);
      ended.resolve({ status: response.statusCode, headers: response.getHeaders(), body: Buffer.concat(chunks) });
      return response;
    },
    // A client that goes away does not call this, only a program whose answer broke off.
    destroy(error?: Error) {
      ended.resolve({ status: 500 });
      return destroy.call(response, error);
    },
  });

  const restore = (status: number, headers: ReadonlyMap<string, string | string[]>): void => {
    Object.assign(response, { writeHead, write, end, flushHeaders, destroy });
    for (const name of response.getHeaderNames()) if (!headers.has(name)) response.removeHeader(name);
    for (const [name, values] of headers) response.setHeader(name, values);
    response.statusCode = status;
  };

  return {
    answer: ended.promise,
    release: () => restore(200, before),
    send(outcome) {
      const { status, headers, body } = outcome;
      const own = isOwn(outcome);
      const sent = own ? byName(headers) : new Map([...before, ...byName(headers)]);
      // An answer that took the place of another may have inherited its length.
      if (sent.has("content-length") && response.req.method !== "HEAD")
        sent.set("content-length", `${body?.length ?? 0}`);
      restore(status, sent);
      if (!own) response.statusMessage = STATUS_CODES[status] ?? "";
      response.end(body);
      Object.assign(response, {
        write: () => true,
        end() {
          ended.resolve({ status });
          return response;
        },
      });
    },
  };
}

/** The headers that `writeHead` takes: an object, or names and values in turn. */
function given(headers: unknown): HeaderInput | undefined {
  if (!Array.isArray(headers)) return headers as HeaderInput | undefined;
  const flat: string[] = headers.flat();
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, String(flat[index + 1])] as const] : []));
}

const encodingIn = (value: unknown): BufferEncoding => (typeof value === "string" ? (value as BufferEncoding) : "utf8");

const callbackIn = (values: unknown[]): (() => void) | undefined =>
  values.find((value): value is () => void => typeof value === "function");
