import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { Overlaps, serve } from "./loopback.js";

/** One request, as the server saw it. */
export interface Arrival {
  readonly key: string;
  readonly sha256: string;
  /** What the request is about, whatever its key. */
  readonly order: string;
  /** Milliseconds since the server's start. */
  readonly at: number;
}

/** Where the server can be held. */
export type Moment = "arrived" | "committed" | "replying";

export interface ObservedServer {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** How often each order was carried out. */
  readonly effects: ReadonlyMap<string, number>;
  /** Requests that arrived while another with the same key was still open. */
  readonly overlaps: number;
  /** Called once, at the next request that comes to this moment; the server waits for it. */
  at(moment: Moment, hold: (arrival: Arrival) => unknown): void;
  /** How the next requests are answered, instead of being carried out. */
  refuse(status: number, times: number, headers?: Record<string, string>): void;
  close(): Promise<void>;
}

export interface ObservedServerOptions {
  /** What an order that is carried out is answered with. @defaultValue 201 */
  readonly status?: number | undefined;
  /** What a request is about. @defaultValue its member `order` */
  readonly orderOf?: ((body: Record<string, unknown>) => string) | undefined;
  /** How long it works on each request, in milliseconds. @defaultValue 0 */
  readonly work?: (() => number) | undefined;
}

interface Stored {
  readonly sha256: string;
  readonly body: string;
}

/** A server that remembers keys as it should, tells what it sees, and stops where a test wants it to. */
export async function startObservedServer(options: ObservedServerOptions = {}): Promise<ObservedServer> {
  const { status = 201, work = () => 0, orderOf = ({ order }) => String(order) } = options;
  const startedAt = performance.now();
  const arrivals: Arrival[] = [];
  const effects = new Map<string, number>();
  const stored = new Map<string, Stored>();
  const holds = new Map<Moment, (arrival: Arrival) => unknown>();
  const overlaps = new Overlaps();
  let refusal = { status: 0, times: 0, headers: {} };

  async function come(moment: Moment, arrival: Arrival): Promise<void> {
    const hold = holds.get(moment);
    holds.delete(moment);
    await hold?.(arrival);
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const key = String(incoming.headers["idempotency-key"]);
    overlaps.enter(key, outgoing);
    const body = await buffer(incoming);
    const sha256 = createHash("sha256").update(body).digest("hex");
    const arrival = { key, sha256, order: orderOf(JSON.parse(body.toString())), at: performance.now() - startedAt };
    arrivals.push(arrival);
    await come("arrived", arrival);
    // Nobody is there any more, and nothing has been done yet.
    if (outgoing.destroyed) return;
    if (refusal.times > 0) {
      refusal.times--;
      outgoing.writeHead(refusal.status, refusal.headers).end();
      return;
    }
    await new Promise((done) => setTimeout(done, work()));

    const known = stored.get(key);
    if (known && known.sha256 !== sha256) {
      outgoing.writeHead(422).end();
      return;
    }
    const answer = known ?? { sha256, body: JSON.stringify({ order: arrival.order, receipt: stored.size + 1 }) };
    if (!known) {
      stored.set(key, answer);
      effects.set(arrival.order, (effects.get(arrival.order) ?? 0) + 1);
    }
    await come("committed", arrival);
    outgoing.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(answer.body),
      "idempotency-status": known ? "replayed" : "executed",
      ...(known && { "idempotency-replayed": "true" }),
    });
    const half = answer.body.length / 2;
    await new Promise((done) => outgoing.write(answer.body.slice(0, half), done));
    await come("replying", arrival);
    outgoing.end(answer.body.slice(half));
  }

  const { url, close } = await serve((incoming, outgoing) => {
    // A client that dies in the middle of its request is none of the server's business.
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  return {
    url,
    close,
    arrivals,
    effects,
    get overlaps() {
      return overlaps.count;
    },
    at: (moment, hold) => void holds.set(moment, hold),
    refuse: (code, times, headers = {}) => {
      refusal = { status: code, times, headers };
    },
  };
}
