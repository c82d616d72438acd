import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** One request, as the API saw it. */
export interface Arrival {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly key: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
}

/**
 * What happens to the next request that carries a key: `lose` carries it out and cuts the connection, `hold` carries it out
 * and answers when it is told to, `busy` says that its twin is being carried out, a `Response` stands in for the API's own.
 */
export type Fault = "lose" | "hold" | "busy" | Response;

/** An API on a real port, which remembers keys as APIs do: it carries each out once, and gives the first answer again. */
export interface Api {
  readonly url: string;
  readonly arrivals: Arrival[];
  /** The keys that were carried out, in order. */
  readonly effects: string[];
  /** Requests that came while another under the same key was open. */
  readonly overlaps: number;
  script(...faults: Fault[]): void;
  /** Answers what is held. */
  release(): void;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly body: Buffer;
}

/** Starts an API whose contract `handle` speaks, as a framework's route does. */
export async function startApi(handle: (request: Request) => Response | Promise<Response>): Promise<Api> {
  const arrivals: Arrival[] = [];
  const effects: string[] = [];
  const remembered = new Map<string, { readonly bytes: Buffer; readonly answer: Answer }>();
  const open = new Map<string, number>();
  let faults: Fault[] = [];
  const held: (() => void)[] = [];
  let overlaps = 0;

  function enter(key: string, response: ServerResponse): void {
    const others = open.get(key) ?? 0;
    if (others > 0) overlaps++;
    open.set(key, others + 1);
    response.once("close", () => open.set(key, (open.get(key) ?? 1) - 1));
  }

  async function carryOut({ method, path, headers, bytes }: Arrival): Promise<Answer> {
    const body = method === "GET" || bytes.length === 0 ? null : new Uint8Array(bytes);
    return await read(await handle(new Request(`${url}${path}`, { method, headers: headers as HeadersInit, body })));
  }

  async function answer(arrival: Arrival, response: ServerResponse): Promise<Answer | undefined> {
    const { key, bytes } = arrival;
    if (key === undefined) return await carryOut(arrival);
    enter(key, response);
    const fault = faults.shift();
    if (fault === "busy") return await read(Response.json({ error: "in_progress" }, { status: 409, headers: soon }));
    if (fault instanceof Response) return await read(fault);
    const known = remembered.get(key);
    if (known && !known.bytes.equals(bytes)) return await read(Response.json({ error: "reused" }, { status: 422 }));
    const answer = known?.answer ?? (await carryOut(arrival));
    if (!known) {
      remembered.set(key, { bytes, answer });
      effects.push(key);
    }
    if (fault === "lose") response.destroy();
    if (fault === "hold") await new Promise<void>((release) => held.push(release));
    return response.destroyed ? undefined : answer;
  }

  const server = createServer(async (request, response) => {
    const { method = "", url: path = "", headers } = request;
    const given = headers["idempotency-key"];
    const arrival = { method, path, headers, key: given as string | undefined, bytes: await buffer(request) };
    arrivals.push(arrival);
    const told = await answer(arrival, response);
    if (told) response.writeHead(told.status, Object.fromEntries(told.headers)).end(told.body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    arrivals,
    effects,
    get overlaps() {
      return overlaps;
    },
    script: (...given) => {
      faults = [...faults, ...given];
    },
    release: () => {
      for (const release of held.splice(0)) release();
    },
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

const soon = { "retry-after": "0" };

async function read(response: Response): Promise<Answer> {
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: [...response.headers], body };
}
