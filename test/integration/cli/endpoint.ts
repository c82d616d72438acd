import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { BURST } from "../../../src/cli/doctor/plan.js";
import { serve } from "../../support/loopback.js";

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** As it was sent, quotes included. */
  readonly key: string | undefined;
}

/** A real HTTP server on loopback that counts what it carries out. */
export interface Endpoint {
  readonly origin: string;
  readonly url: string;
  /** All that arrived. */
  readonly arrived: readonly Arrived[];
  /** How often the request was carried out. */
  readonly effects: number;
  stop(): Promise<void>;
}

/** What the endpoint does with a write; `effect` carries it out and tells which time that was. Nothing: no answer. */
export type Behaviour = (request: Arrived, effect: () => number) => Promise<Reply | undefined> | Reply | undefined;

/** Everything but the writes is 404, unless `others` has an answer. */
export async function startEndpoint(
  behave: Behaviour,
  others: (request: Arrived) => Reply | undefined = () => undefined,
): Promise<Endpoint> {
  const arrived: Arrived[] = [];
  let effects = 0;
  const effect = (): number => {
    effects += 1;
    return effects;
  };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "", headers } = request;
    const body = (await buffer(request)).toString();
    const one: Arrived = { method, path, headers, body, key: headers["idempotency-key"] as string | undefined };
    arrived.push(one);
    const isWrite = /^(POST|PUT|PATCH|DELETE)$/.test(method);
    const reply = isWrite ? await behave(one, effect) : (others(one) ?? { status: 404 });
    if (!reply) return;
    response.writeHead(reply.status, reply.headers);
    response.end(reply.body);
  };
  const { url: origin, close } = await serve((request, response) => void respond(request, response));
  return {
    origin,
    url: `${origin}/transfers`,
    arrived,
    get effects() {
      return effects;
    },
    stop: close,
  };
}

export interface Keeping {
  /** What those get who come while the key is in progress. @defaultValue 409 */
  readonly busy?: "wait" | Reply;
  /** Whether the marks stand on answers. @defaultValue true */
  readonly marked?: boolean;
  /** Whether a key in quotes is the key inside. @defaultValue true */
  readonly unquotes?: boolean;
  /** How a refusal is written. @defaultValue problem+json */
  readonly refuse?: (status: number, error: string) => Reply;
  /** What a replay is made of the first answer. @defaultValue the same */
  readonly replay?: (first: Reply) => Reply;
  /** Whether another body is refused. @defaultValue true */
  readonly compares?: boolean;
}

export const problem = (status: number, error: string, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: JSON.stringify({ title: error, status, error }),
});

export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(value),
});

/** A server that keeps the contract in memory, but for what the options say. */
export function keeping(options: Keeping = {}): Behaviour {
  const { marked = true, unquotes = true, refuse = problem, replay = (first) => first, compares = true } = options;
  const { busy = problem(409, "in_progress", { "retry-after": "1" }) } = options;
  const known = new Map<
    string,
    { readonly body: string; answer?: Reply; readonly done: Promise<void>; came: number }
  >();
  const withMark = (reply: Reply, status: "executed" | "replayed"): Reply =>
    marked ? { ...reply, headers: { ...reply.headers, "idempotency-status": status } } : reply;

  return async ({ key: sent, body }, effect) => {
    if (sent === undefined) return refuse(400, "idempotency_key_missing");
    const key = unquotes ? sent.replace(/^"(.*)"$/, "$1") : sent;
    const entry = known.get(key);
    if (entry) {
      entry.came += 1;
      if (compares && entry.body !== body) return refuse(422, "idempotency_key_reused_with_different_body");
      if (!entry.answer && busy !== "wait") return busy;
      await entry.done;
      return entry.answer && withMark(replay(entry.answer), "replayed");
    }
    let finish = (): void => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const mine: { body: string; answer?: Reply; done: Promise<void>; came: number } = { body, done, came: 1 };
    known.set(key, mine);
    // The second key is the one that several ask for at once: it is in progress until all have come.
    while (known.size === 2 && mine.came < BURST) await new Promise(setImmediate);
    mine.answer = json(201, { transfer: effect() }, { location: `/transfers/${known.size}` });
    finish();
    return withMark(mine.answer, "executed");
  };
}
