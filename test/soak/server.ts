/** Remembers keys as it should, counts effects by what was meant, and lets requests and answers come to grief. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../../examples/demo/random.js";
import { type Fault, faultsFrom } from "./faults.js";
import type { ServerTold } from "./protocol.js";

/** Longer than an attempt may take, in milliseconds. */
const STALL = 1_500;

const [operations = "0", seed = "1"] = process.argv.slice(2);
const random = seeded(Number(seed));
const draw = faultsFrom(random);
const effects = new Uint8Array(Number(operations));
/** The first key that came for each order. */
const keys = new Map<number, string>();
const answers = new Map<string, { readonly sha256: string; readonly body: string }>();
const atWork = new Set<string>();
const faults: Record<string, number> = {};
const seen = { requests: 0, replayed: 0, busy: 0, rekeyed: 0, changed: 0 };

process.once("disconnect", () => process.exit());
process.on("message", () => {
  const count = (fits: (times: number) => boolean) => effects.reduce((sum, times) => sum + (fits(times) ? 1 : 0), 0);
  tell({ what: "saw", ...seen, faults, lost: count((n) => n === 0), duplicated: count((n) => n > 1) });
});

function tell(told: ServerTold): void {
  process.send?.(told);
}

const server = createServer((incoming, outgoing) => {
  // Whoever was killed in the middle of its request gets no answer.
  handle(incoming, outgoing).catch(() => outgoing.destroy());
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  tell({ what: "listening", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await buffer(incoming);
  const key = String(incoming.headers["idempotency-key"]);
  const { order } = JSON.parse(body.toString()) as { order: number };
  seen.requests++;
  const known = keys.get(order);
  if (known === undefined) keys.set(order, key);
  else if (known !== key) seen.rekeyed++;

  const fault = draw();
  faults[fault] = (faults[fault] ?? 0) + 1;
  if (fault === "lose request") return void incoming.socket.resetAndDestroy();
  if (fault === "503") return void outgoing.writeHead(503).end();
  if (fault === "409") return void outgoing.writeHead(409, { "retry-after-ms": "50" }).end();
  if (atWork.has(key)) {
    seen.busy++;
    outgoing.writeHead(409, { "retry-after-ms": "20" }).end();
    return;
  }
  await answer(outgoing, await perform(order, key, body), fault);
}

/** Does it, unless it was done; either way the answer is the same. */
async function perform(order: number, key: string, body: Buffer): Promise<{ text: string; replayed: boolean }> {
  const sha256 = createHash("sha256").update(body).digest("hex");
  const stored = answers.get(key);
  if (stored) {
    seen.replayed++;
    if (stored.sha256 !== sha256) seen.changed++;
    return { text: stored.body, replayed: true };
  }
  atWork.add(key);
  await sleep(random() * 4);
  atWork.delete(key);
  const text = JSON.stringify({ order, receipt: answers.size + 1 });
  answers.set(key, { sha256, body: text });
  effects[order] = (effects[order] ?? 0) + 1;
  return { text, replayed: false };
}

async function answer(
  outgoing: ServerResponse,
  { text, replayed }: { text: string; replayed: boolean },
  fault: Fault,
): Promise<void> {
  if (fault === "lose response") return void outgoing.req.socket.resetAndDestroy();
  if (fault === "502 afterwards") return void outgoing.writeHead(502).end();
  if (fault === "stall") await sleep(STALL);
  outgoing.writeHead(201, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "idempotency-status": replayed ? "replayed" : "executed",
    ...(replayed && { "idempotency-replayed": "true" }),
  });
  if (fault !== "cut body") return void outgoing.end(text);
  outgoing.write(text.slice(0, text.length / 2), () => outgoing.destroy());
}
