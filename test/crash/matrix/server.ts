import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Kind } from "./errand.js";

/** Where a request stands, seen from the server; processes are ended there as well as at their own points. */
export const MOMENTS = [
  "request:head",
  "request:part",
  "request:whole",
  "effect:committed",
  "answer:started",
  "answer:part",
  "answer:whole",
] as const;

export type Moment = (typeof MOMENTS)[number];

/** What the server knows of one order. */
export interface Seen {
  readonly keys: Set<string>;
  readonly bodies: Set<string>;
  /** How often it was carried out, or refused: once for each key that it came with. */
  decisions: number;
  /** It was the how-manieth that was decided. */
  place: number;
}

export interface Server {
  readonly url: string;
  seen(order: string): Seen;
  /** Requests that arrived while another with the same key was still open. */
  readonly overlaps: number;
  /** Called at each moment, and waited for. */
  onMoment: (moment: Moment) => unknown;
  close(): Promise<void>;
}

/** How long it works on a slow order, in milliseconds. */
const SLOW = 600;

/**
 * A server that keeps its side of the contract: one decision for each key, and the same answer ever after.
 *
 * @param other - answers what is no order
 */
export async function startServer(other?: RequestListener): Promise<Server> {
  const orders = new Map<string, Seen>();
  const decided = new Map<string, { readonly status: number; readonly body: string; readonly sha256: string }>();
  const open = new Map<string, number>();
  const away = new Set<string>();
  let overlaps = 0;

  function enter(key: string, response: ServerResponse): void {
    const others = open.get(key) ?? 0;
    if (others > 0) overlaps++;
    open.set(key, others + 1);
    response.once("close", () => open.set(key, (open.get(key) ?? 1) - 1));
  }

  async function read(request: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
      if (!request.complete) await server.onMoment("request:part");
    }
    return Buffer.concat(chunks);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const order = server.seen(request.url?.replace("/orders/", "") ?? "");
    if (request.method === "GET") return void response.writeHead(order.decisions > 0 ? 200 : 404).end();
    const key = String(request.headers["idempotency-key"]);
    enter(key, response);
    order.keys.add(key);
    await server.onMoment("request:head");
    const bytes = await read(request);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    order.bodies.add(sha256);
    const { kind } = JSON.parse(bytes.toString()) as { kind: Kind };
    await server.onMoment("request:whole");
    // Nobody is there any more, and nothing has been done yet.
    if (response.destroyed) return;
    if (kind === "flaky" && !away.has(key)) {
      away.add(key);
      return void response.writeHead(503).end();
    }
    if (kind === "slow") await sleep(SLOW);
    const known = decided.get(key);
    if (known && known.sha256 !== sha256) return void response.writeHead(422).end();
    const answer = known ?? { status: kind === "refused" ? 402 : 201, body: JSON.stringify({ kind, sha256 }), sha256 };
    if (!known) {
      decided.set(key, answer);
      order.decisions++;
      order.place = decided.size;
    }
    await server.onMoment("effect:committed");
    if (kind === "reconciled" || kind === "discarded" || kind === "asked") return void response.destroy();
    response.writeHead(answer.status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(answer.body),
      "idempotency-status": known ? "replayed" : "executed",
    });
    response.flushHeaders();
    await server.onMoment("answer:started");
    const half = answer.body.length / 2;
    await new Promise((done) => response.write(answer.body.slice(0, half), done));
    await server.onMoment("answer:part");
    await new Promise<void>((done) => response.end(answer.body.slice(half), done));
    await server.onMoment("answer:whole");
  }

  const listener = createServer((request, response) => {
    if (other && !request.url?.startsWith("/orders/")) return other(request, response);
    // A client that dies in the middle of its request is none of the server's business.
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
  const { port } = listener.address() as { port: number };
  const server: Server = {
    url: `http://127.0.0.1:${port}`,
    seen(order) {
      const seen = orders.get(order) ?? { keys: new Set(), bodies: new Set(), decisions: 0, place: 0 };
      orders.set(order, seen);
      return seen;
    },
    get overlaps() {
      return overlaps;
    },
    onMoment: () => undefined,
    close: async () => {
      const closed = new Promise((done) => listener.close(done));
      listener.closeAllConnections();
      await closed;
    },
  };
  return server;
}
