import { type Duration, toMs } from "../core/durations.js";
import { realClock } from "../platform/real-clock.js";
import { parseKey } from "../server/key.js";
import type { Clock } from "../store.js";
import { type ChaosOptions, createChaos } from "./chaos.js";
import { ConformingServer, type Contract, type Effect } from "./conforming.js";
import type { Exchange } from "./faults.js";
import { isWrite, MockRequest } from "./mock-request.js";
import { createMswHandlers, type MswHttp } from "./msw-handlers.js";
import { plainFetch } from "./plain-fetch.js";
import { type MockHandler, type Route, type RouteOptions, route } from "./routes.js";
import { Script, type Step } from "./script.js";

/** Options of {@link createMockServer}. */
export interface MockServerOptions {
  /** @defaultValue "https://api.example.com" */
  readonly baseUrl?: string | undefined;
  /** How long it remembers a key. @defaultValue "24h" */
  readonly retention?: Duration | undefined;
  /** The name of the key's header. @defaultValue "idempotency-key" */
  readonly header?: string | undefined;
  /** Whether keys must be quoted, as the IETF draft has it; otherwise both forms are the same key. @defaultValue false */
  readonly quoted?: boolean | undefined;
  /** How long it works on each request; copies that arrive meanwhile get 409. @defaultValue 0 */
  readonly processing?: Duration | undefined;
  /** @defaultValue real time */
  readonly clock?: Clock | undefined;
}

/**
 * An API in memory that deduplicates by idempotency key as it should, behind a network that fails as you tell it to.
 *
 * A new key is executed (201, `Idempotency-Status: executed`), a known one replayed byte for byte
 * (`Idempotency-Status: replayed`, `Idempotency-Replayed: true`), one in progress answered with 409 and
 * `Retry-After: 1`, one with another request with 422, none or a malformed one with 400, one past its window with 410.
 */
export class MockServer {
  readonly baseUrl: string;
  /** The server as a plain fetch, without msw; relative URLs are relative to `baseUrl`. */
  readonly fetch: typeof globalThis.fetch;
  readonly #contract: Contract;
  readonly #routes: Route[] = [];
  readonly #script = new Script();
  #server: ConformingServer;
  #calls: MockRequest[] = [];
  #requests: MockRequest[] = [];

  /** Use {@link createMockServer}. */
  constructor(options: MockServerOptions = {}) {
    this.baseUrl = (options.baseUrl ?? "https://api.example.com").replace(/\/$/, "");
    this.#contract = {
      header: options.header ?? "idempotency-key",
      retention: toMs(options.retention ?? "24h", "retention"),
      quoted: options.quoted ?? false,
      processing: toMs(options.processing ?? 0, "processing"),
      clock: options.clock ?? realClock,
    };
    this.#server = new ConformingServer(this.#contract, this.#routes);
    this.fetch = plainFetch(this.baseUrl, (request, signal) => this.#exchange(request, signal));
  }

  /** What was done: one per key, if all is well. Replays and refusals are none. */
  get effects(): readonly Effect[] {
    return this.#server.effects;
  }

  /** Every request that arrived, in order; copies and replays too. */
  get requests(): readonly MockRequest[] {
    return this.#requests;
  }

  /** Every request that the client made, whether it arrived or not. */
  get calls(): readonly MockRequest[] {
    return this.#calls;
  }

  /**
   * Answers a path with a handler, which runs once per key. The latest route that fits is taken. Without one, writes
   * are answered with 201 and `{ id }`, reads with 404.
   *
   * @param path - whole, such as `/payments/:id/refunds`
   */
  on(method: string, path: string, handler: MockHandler, options?: RouteOptions): this {
    this.#routes.unshift(route(method, new URL(this.baseUrl).pathname.replace(/\/$/, "") + path, handler, options));
    return this;
  }

  /**
   * What goes wrong with the next writes, one step per request in the order in which they are made. `GET`, `HEAD` and
   * `OPTIONS` are left alone.
   */
  script(...steps: readonly Step[]): this {
    this.#script.add(steps);
    return this;
  }

  /** Lets faults happen at random, the same ones for the same seed, to every write that has none scripted. */
  chaos(options: ChaosOptions): this {
    this.#script.chaos = createChaos(options);
    return this;
  }

  /** Ends all faults. */
  calm(): this {
    this.#script.clear();
    return this;
  }

  /** Forgets everything but the routes: keys, effects, requests, faults. */
  reset(): void {
    this.calm();
    this.#calls = [];
    this.#requests = [];
    this.#server = new ConformingServer(this.#contract, this.#routes);
  }

  /**
   * Request handlers for msw, for everything below `baseUrl`.
   *
   * @param http - `http` of `msw`, which is yours to import: `setupServer(...server.handlers(http))`
   */
  handlers<Handler>(http: MswHttp<Handler>): Handler[] {
    return createMswHandlers(this.baseUrl, http, (request, signal) => this.#exchange(request, signal));
  }

  async #exchange(incoming: Request, signal: AbortSignal): Promise<Response> {
    // Before anything is awaited: faults go by the order of the calls.
    const faults = isWrite(incoming.method) ? this.#script.next() : [];
    const [server, calls, requests] = [this.#server, this.#calls, this.#requests];
    const request = await this.#read(incoming);
    calls.push(request);

    const exchange: Exchange = { request, signal, clock: this.#contract.clock };
    const deliver = (): Promise<Response> => {
      requests.push(request);
      return server.handle(request);
    };
    return faults.reduceRight((next, fault) => () => fault.apply(exchange, next), deliver)();
  }

  async #read(incoming: Request): Promise<MockRequest> {
    const parsed = parseKey(incoming.headers.get(this.#contract.header));
    return new MockRequest({
      method: incoming.method,
      url: incoming.url,
      headers: new Headers(incoming.headers),
      body: new Uint8Array(await incoming.arrayBuffer()),
      key: "key" in parsed ? parsed.key : undefined,
      at: this.#contract.clock.now(),
      params: {},
    });
  }
}

/** A {@link MockServer}. */
export function createMockServer(options?: MockServerOptions): MockServer {
  return new MockServer(options);
}
