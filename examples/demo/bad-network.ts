import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** What becomes of one request. */
export type Fault =
  | "none"
  /** It never reaches the server. */
  | "lose request"
  /** The server has done it; its answer never arrives. */
  | "lose response"
  /** It reaches the server twice, a few milliseconds apart; the second copy's answer arrives. */
  | "duplicate"
  /** A gateway says 503, and the server knows nothing. */
  | "503"
  /** The answer takes its time. */
  | "stall"
  /** The answer breaks off in the middle of its body. */
  | "cut body";

/** One request on its way. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly body: Buffer;
}

/** An answer of the server's. */
export interface Passed {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export interface BadNetworkOptions {
  /** The server behind it, or one for each request. */
  readonly upstream: string | (() => string);
  /** Decides, request by request. */
  readonly fault: (request: Passing) => Fault;
  /** How long a request travels, in milliseconds. @defaultValue 0 */
  readonly delay?: (() => number) | undefined;
  /** How long an answer stalls, in milliseconds. @defaultValue 1000 */
  readonly stall?: (() => number) | undefined;
  /** Told of every answer of the server's before it goes on to the client, or does not. */
  readonly onAnswer?: ((request: Passing, answer: Passed) => void | Promise<void>) | undefined;
}

export interface BadNetwork {
  /** Where clients connect. */
  readonly url: string;
  /** Answers whose client had gone away. */
  readonly undelivered: number;
  close(): Promise<void>;
}

/** Stands between a client and a server, and does to requests and answers what networks do. */
export async function startBadNetwork(options: BadNetworkOptions): Promise<BadNetwork> {
  const agent = new Agent({ keepAlive: true });
  let undelivered = 0;
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing, agent, options)
      .then((answered) => {
        if (!answered) undelivered++;
      })
      // The client went away in the middle of its request, or the server did.
      .catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    get undelivered() {
      return undelivered;
    },
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}

const TWINS_APART = 5;

/** Resolves to whether the client was still there when its answer, or the lack of it, was due. */
async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  agent: Agent,
  options: BadNetworkOptions,
): Promise<boolean> {
  const { upstream, delay = () => 0, stall = () => 1_000, onAnswer } = options;
  const request = {
    method: incoming.method ?? "GET",
    path: incoming.url ?? "/",
    key: incoming.headers["idempotency-key"] as string | undefined,
    body: await buffer(incoming),
  };
  const fault = options.fault(request);
  const forward = async (): Promise<Passed> => {
    const answer = await exchange(typeof upstream === "string" ? upstream : upstream(), incoming, request, agent);
    await onAnswer?.(request, answer);
    return answer;
  };

  await sleep(delay());
  if (fault !== "lose request" && fault !== "503") {
    const passed = await (fault === "duplicate" ? twice(forward) : forward());
    if (fault === "stall") await sleep(stall());
    if (outgoing.destroyed) return false;
    if (fault === "cut body") cut(outgoing, passed);
    else if (fault !== "lose response") answer(outgoing, passed);
  } else if (fault === "503") {
    answer(outgoing, { status: 503, headers: {}, body: Buffer.from("no upstream") });
  }
  if (fault === "lose request" || fault === "lose response") incoming.socket.resetAndDestroy();
  return true;
}

/** Two copies of one request are under way at once. */
async function twice(forward: () => Promise<Passed>): Promise<Passed> {
  const [, second] = await Promise.all([forward(), sleep(TWINS_APART).then(forward)]);
  return second;
}

async function exchange(upstream: string, incoming: IncomingMessage, request: Passing, agent: Agent): Promise<Passed> {
  const { connection: _, ...headers } = incoming.headers;
  return new Promise((resolve, reject) => {
    const outbound = send(
      `${upstream}${request.path}`,
      { method: request.method, headers, agent },
      async (response) => {
        try {
          const body = await buffer(response);
          resolve({ status: response.statusCode ?? 502, headers: response.headers, body });
        } catch (error) {
          reject(error);
        }
      },
    );
    outbound.once("error", reject);
    outbound.end(request.body);
  });
}

function answer(outgoing: ServerResponse, { status, headers, body }: Passed): void {
  outgoing.writeHead(status, endToEnd(headers));
  outgoing.end(body);
}

function cut(outgoing: ServerResponse, { status, headers, body }: Passed): void {
  outgoing.writeHead(status, { ...endToEnd(headers), "content-length": body.length });
  outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
}

function endToEnd({ connection: _, "keep-alive": __, "transfer-encoding": ___, ...headers }: Passed["headers"]) {
  return headers;
}
