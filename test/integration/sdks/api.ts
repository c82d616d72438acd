import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { Overlaps, serve } from "../../support/loopback.js";

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

/** How an API treats keys. */
export interface Contract {
  /** The key of a write; `undefined` for what is no write. An API that knows no keys names each arrival anew. */
  readonly keyOf: (arrival: Omit<Arrival, "key">) => string | undefined;
  /** The answer while the key's first request is being carried out. */
  readonly busy: () => Response;
  /** The answer to a key that came with other bytes. */
  readonly mismatched: () => Response;
  /** Headers by which it tells that it gives an earlier answer again. */
  readonly replayed: Readonly<Record<string, string>>;
  /** Whether an answer of this status is remembered. */
  readonly remembers: (status: number) => boolean;
}

const byHeader: Contract = {
  keyOf: ({ headers }) => headers["idempotency-key"] as string | undefined,
  busy: () => Response.json({ error: "in_progress" }, { status: 409, headers: { "retry-after": "0" } }),
  mismatched: () => Response.json({ error: "reused" }, { status: 422 }),
  replayed: {},
  remembers: () => true,
};

interface Answer {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly body: Buffer;
}

/** What an API does with a request, as a framework's route does it. */
export type Handle = (request: Request) => Response | Promise<Response>;

/** Starts an API. */
export async function startApi(handle: Handle, contract: Partial<Contract> = {}): Promise<Api> {
  const { keyOf, busy, mismatched, replayed, remembers } = { ...byHeader, ...contract };
  const arrivals: Arrival[] = [];
  const effects: string[] = [];
  const remembered = new Map<string, { readonly bytes: Buffer; readonly answer: Answer }>();
  let faults: Fault[] = [];
  const held: (() => void)[] = [];
  const overlaps = new Overlaps();

  async function carryOut({ method, path, headers, bytes }: Arrival): Promise<Answer> {
    const body = method === "GET" || bytes.length === 0 ? null : new Uint8Array(bytes);
    const request = new Request(`${url}${path}`, { method, headers: headers as HeadersInit, body });
    return await read(await Promise.resolve(request).then(handle).catch(broken));
  }

  const again = (answer: Answer): Answer => ({
    ...answer,
    headers: [...answer.headers, ...Object.entries(replayed)],
  });

  async function answer(arrival: Arrival, response: ServerResponse): Promise<Answer | undefined> {
    const { key, bytes } = arrival;
    if (key === undefined) return await carryOut(arrival);
    overlaps.enter(key, response);
    const fault = faults.shift();
    if (fault === "busy") return await read(busy());
    if (fault instanceof Response) return await read(fault);
    const known = remembered.get(key);
    if (known && !known.bytes.equals(bytes)) return await read(mismatched());
    const answer = known ? again(known.answer) : await carryOut(arrival);
    if (!known && remembers(answer.status)) {
      remembered.set(key, { bytes, answer });
      effects.push(key);
    }
    if (fault === "lose") response.destroy();
    if (fault === "hold") await new Promise<void>((release) => held.push(release));
    return response.destroyed ? undefined : answer;
  }

  const { url, close } = await serve(async (request, response) => {
    const { method = "", url: path = "", headers } = request;
    const arrived = { method, path, headers, bytes: await buffer(request) };
    const arrival = { ...arrived, key: keyOf(arrived) };
    arrivals.push(arrival);
    const told = await answer(arrival, response);
    if (told) response.writeHead(told.status, Object.fromEntries(told.headers)).end(told.body);
  });
  return {
    url,
    close,
    arrivals,
    effects,
    get overlaps() {
      return overlaps.count;
    },
    script: (...given) => {
      faults = [...faults, ...given];
    },
    release: () => {
      for (const release of held.splice(0)) release();
    },
  };
}

const broken = (error: unknown): Response => new Response(`the test's own API failed: ${error}`, { status: 500 });

async function read(response: Response): Promise<Answer> {
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: [...response.headers], body };
}
