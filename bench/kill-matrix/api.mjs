import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { ietf, stripe } from "./contracts.mjs";

/** How long a slow server works, in milliseconds. */
const SLOW = 3_000;

/**
 * One idempotent API for all, and the accidents that befall it. A key is remembered for a window; whatever comes under
 * it meanwhile is answered from the record. Effects are counted by order: by what the user meant.
 *
 * What becomes of an arrival is decided by its order's plan, `(arrival, ms since the first) => accident`:
 * - `lose request`: the connection breaks, nothing is done
 * - `lose response`: it is done, the connection breaks
 * - `cut body`: it is done, the answer breaks off in its body
 * - `503`: so answered, nothing is done
 * - `slow`: it is at work for three seconds; the connection breaks at once
 * - `hang`: nothing is done, nothing is answered
 * - `hang after`: it is done, nothing is answered
 * - anything else: all is well
 */
export class Api {
  /** How often each order was carried out. */
  effects = new Map();
  /** How often a request for each order came. */
  arrivals = new Map();
  /** How long a key is remembered, in milliseconds. */
  window = 86_400_000;
  /** Answers GET; set by whoever serves pages. */
  pages = (_, response) => response.writeHead(404).end();
  #plans = new Map();
  #firstAt = new Map();
  #keys = new Map();
  #server = createServer((request, response) => {
    this.#handle(request, response).catch(() => response.destroy());
  });

  /** Resolves to the port. */
  async listen() {
    this.#server.keepAliveTimeout = 60_000;
    await new Promise((done) => this.#server.listen(0, "127.0.0.1", done));
    return this.#server.address().port;
  }

  plan(order, plan) {
    this.#plans.set(order, plan);
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #handle(request, response) {
    if (request.method === "GET") return this.pages(request, response);
    const body = await buffer(request);
    const contract = request.url.startsWith("/v1/") ? stripe : ietf;
    const order = contract.orderOf(body);
    const key = request.headers["idempotency-key"];
    const arrival = this.arrivals.get(order) ?? 0;
    this.arrivals.set(order, arrival + 1);
    if (arrival === 0) this.#firstAt.set(order, Date.now());
    const accident = this.#plans.get(order)?.(arrival, Date.now() - this.#firstAt.get(order));

    if (accident === "lose request") return request.socket.resetAndDestroy();
    if (accident === "503") return contract.unavailable(response);
    if (accident === "hang") return;
    if (key === undefined) return contract.keyMissing(response);
    const known = this.#known(key);
    if (known?.atWork) return contract.inProgress(response);
    if (known && known.body !== body.toString()) return contract.mismatch(response);
    const record = known ?? (await this.#perform(key, order, body.toString(), accident === "slow" && request.socket));
    if (accident === "hang after") return;
    if (accident === "lose response" || accident === "slow") return request.socket.resetAndDestroy();
    contract.answer(response, record.result, known !== undefined, accident === "cut body");
  }

  /** A key that is past its window is as good as new. */
  #known(key) {
    const record = this.#keys.get(key);
    return record && Date.now() - record.at < this.window ? record : undefined;
  }

  async #perform(key, order, body, slowFor) {
    const record = { at: Date.now(), body, atWork: true, result: undefined };
    this.#keys.set(key, record);
    if (slowFor) {
      slowFor.resetAndDestroy();
      await sleep(SLOW);
    }
    const times = (this.effects.get(order) ?? 0) + 1;
    this.effects.set(order, times);
    return Object.assign(record, { atWork: false, result: { order, number: this.#keys.size } });
  }
}
