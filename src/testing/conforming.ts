import { dispositionOf, storedHeaders } from "../server/answer.js";
import { parseKey, sortableKey } from "../server/key.js";
import type { ProblemCode } from "../server/problem.js";
import type { Clock } from "../store.js";
import { isWrite, MockRequest } from "./mock-request.js";
import { problemResponse } from "./problem-response.js";
import { type MockHandler, matchRoute, type Route, responseOf } from "./routes.js";

/** Something that was done, once. */
export interface Effect {
  /** `undefined` on a route without keys. */
  readonly key: string | undefined;
  readonly method: string;
  readonly url: string;
  /** Parsed, where it is JSON; otherwise the text. */
  readonly body: unknown;
  /** When: milliseconds since the Unix epoch. */
  readonly at: number;
}

/** How a server treats keys; lengths in milliseconds. */
export interface Contract {
  readonly header: string;
  readonly retention: number;
  readonly quoted: boolean;
  readonly processing: number;
  readonly clock: Clock;
}

interface Stored {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: ArrayBuffer | null;
}

interface Entry {
  readonly fingerprint: string;
  readonly at: number;
  /** Absent while in progress. */
  answer?: Stored;
}

/** v7 keys from further ahead are refused. */
const HORIZON = 3 * 86_400_000;
const allowList = storedHeaders();

/** The server's half of the contract, in memory: one key, one effect. */
export class ConformingServer {
  readonly effects: Effect[] = [];
  readonly #contract: Contract;
  readonly #routes: readonly Route[];
  readonly #entries: Map<string, Entry> = new Map();
  #ids = 0;

  constructor(contract: Contract, routes: readonly Route[]) {
    this.#contract = contract;
    this.#routes = routes;
  }

  async handle(request: MockRequest): Promise<Response> {
    const [handler, routed, keyed] = this.#find(request);
    const response = keyed ? await this.#once(routed, handler) : await this.#run(routed, handler);
    if (!response.headers.has("date")) response.headers.set("date", new Date(this.#contract.clock.now()).toUTCString());
    return response;
  }

  #find(request: MockRequest): [MockHandler, MockRequest, keyed: boolean] {
    for (const route of this.#routes) {
      const params = matchRoute(route, request.method, request.path);
      if (params) {
        return [route.handler, new MockRequest({ ...request, params }), route.keyed ?? isWrite(request.method)];
      }
    }
    if (!isWrite(request.method)) return [() => Response.json({ error: "not_found" }, { status: 404 }), request, false];
    return [() => ({ id: String(++this.#ids) }), request, true];
  }

  async #once(request: MockRequest, handler: MockHandler): Promise<Response> {
    const header = request.headers.get(this.#contract.header);
    const parsed = parseKey(header);
    if ("error" in parsed) return problemResponse(parsed.error);
    if (this.#contract.quoted && !header?.startsWith('"')) return problemResponse("idempotency_key_invalid");

    const { key } = parsed;
    const entry = this.#entries.get(key);
    const refusal = this.#refusal(key, request, entry);
    if (refusal) return problemResponse(refusal);
    return entry?.answer ? revive(entry.answer, "replayed") : this.#execute(key, request, handler);
  }

  #refusal(key: string, request: MockRequest, entry: Entry | undefined): ProblemCode | undefined {
    const { retention, clock } = this.#contract;
    const now = clock.now();
    // Where the key is new, a tenth more: it may have been minted before it was first sent.
    const [since, window] = entry ? [entry.at, retention] : [timeOf(key), retention * 1.1];
    if (since !== undefined && since > now + HORIZON) return "idempotency_key_time";
    if (since !== undefined && since < now - window) return "idempotency_key_expired";
    if (!entry) return undefined;
    if (!entry.answer) return "in_progress";
    return entry.fingerprint === fingerprint(request) ? undefined : "idempotency_key_reused_with_different_body";
  }

  async #execute(key: string, request: MockRequest, handler: MockHandler): Promise<Response> {
    const entry: Entry = { fingerprint: fingerprint(request), at: this.#contract.clock.now() };
    this.#entries.set(key, entry);
    const response = await this.#run(request, handler, key);
    if (dispositionOf(response.status) === "released") {
      this.#entries.delete(key);
      return response;
    }
    entry.answer = await store(response);
    return revive(entry.answer, "executed", response.headers);
  }

  async #run(request: MockRequest, handler: MockHandler, key?: string): Promise<Response> {
    const { clock, processing } = this.#contract;
    if (processing > 0) await clock.sleep(processing);
    const response = await answerOf(handler, request);
    if (isWrite(request.method) && dispositionOf(response.status) === "completed") {
      const { method, url } = request;
      this.effects.push({ key, method, url, body: readable(request), at: clock.now() });
    }
    return response;
  }
}

async function answerOf(handler: MockHandler, request: MockRequest): Promise<Response> {
  try {
    return responseOf(await handler(request));
  } catch (error) {
    return Response.json({ error: "handler_failed", detail: String(error) }, { status: 500 });
  }
}

async function store(response: Response): Promise<Stored> {
  const body = await response.clone().arrayBuffer();
  const headers = [...response.headers].filter(([name]) => allowList.has(name));
  return { status: response.status, headers, body: response.body && body };
}

/** What is stored, marked; `fresh` headers go out with the first answer only. */
function revive(stored: Stored, mark: "executed" | "replayed", fresh?: Headers): Response {
  const response = new Response(stored.body, { status: stored.status, headers: fresh ?? stored.headers });
  response.headers.set("idempotency-status", mark);
  if (mark === "replayed") response.headers.set("idempotency-replayed", "true");
  return response;
}

function fingerprint({ method, url, headers, body }: MockRequest): string {
  const { pathname, search } = new URL(url);
  return JSON.stringify([method, pathname, search, headers.get("content-type"), body.join()]);
}

/** The time in a v7 key. */
function timeOf(key: string): number | undefined {
  const sortable = sortableKey(key);
  return sortable.startsWith("7") ? Number.parseInt(sortable.slice(1, 13), 16) : undefined;
}

function readable(request: MockRequest): unknown {
  try {
    return request.json();
  } catch {
    return request.text();
  }
}
