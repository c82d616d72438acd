import { brokenStream, networkError } from "../../../src/testing/broken.js";
import type { Ending } from "../trace.js";
import type { Dice } from "./dice.js";
import { frontAnswer } from "./fronts.js";
import type { Server, WireRequest } from "./server.js";
import type { NetworkFaults } from "./weather.js";
import type { World } from "./world.js";

/** One request under way, seen from its client. */
interface Exchange {
  readonly request: number;
  readonly wire: WireRequest;
  readonly dice: Dice;
  readonly signal: AbortSignal;
}

const NEVER = new Promise<never>(() => {});

/** Between the clients and the server. Faults are drawn by the number of the request. */
export class Network {
  readonly #world: World;
  readonly #server: Server;
  #requests = 0;

  constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
  }

  nextRequest(): number {
    this.#requests += 1;
    return this.#requests;
  }

  /**
   * Carries one request there and the answer back; rejects as `fetch` does.
   *
   * @param end - told how it ended for the client, once
   */
  async carry(
    request: number,
    wire: WireRequest,
    signal: AbortSignal,
    end: (ending: Ending) => void,
  ): Promise<Response> {
    const { weather, calm, dice } = this.#world;
    const draw = dice.fork(`request/${request}`);
    const exchange: Exchange = { request, wire, dice: draw, signal };
    const fault = !calm && draw.chance(weather.network) ? draw.weighted({ ...weather.networkFaults }) : undefined;
    try {
      const response = await this.#through(exchange, fault);
      return observed(response, end);
    } catch (error) {
      end({ how: error instanceof Refused ? "unsent" : "lost" });
      throw error instanceof Refused ? networkError("ECONNREFUSED") : error;
    }
  }

  async #through(exchange: Exchange, fault: keyof NetworkFaults | undefined): Promise<Response> {
    const { dice, signal } = exchange;
    switch (fault) {
      case "refused":
        await this.#way(dice);
        throw new Refused();
      case "requestLost":
        await this.#way(dice);
        throw networkError();
      case "responseLost":
        await this.#deliver(exchange);
        throw networkError();
      case "halfOpen":
        await this.#deliver(exchange);
        return NEVER;
      case "silent":
        return NEVER;
      case "late":
        void this.#later(exchange, dice.pick([50, 2_000, 40_000, 300_000]));
        await this.#way(dice);
        throw networkError();
      case "cut":
        return brokenStream(await this.#deliver(exchange), async () => {
          throw new TypeError("terminated");
        });
      case "stall":
        return brokenStream(await this.#deliver(exchange), () => aborted(signal));
      case "twice":
        return this.#twice(exchange);
      case "front":
        await this.#way(dice);
        return this.#frontAnswer(exchange);
      case "gateway":
        await this.#deliver(exchange);
        return new Response("gateway", { status: dice.pick([502, 504]) });
      case "redirect":
        await this.#way(dice);
        return new Response(null, { status: dice.pick([307, 308]), headers: { location: exchange.wire.url } });
      default:
        return this.#deliver(exchange);
    }
  }

  #frontAnswer({ dice, wire }: Exchange): Response {
    const { clock, weather } = this.#world;
    return frontAnswer(dice, weather.fronts, wire.url, clock.steady.now() + weather.skew);
  }

  async #deliver(exchange: Exchange): Promise<Response> {
    await this.#way(exchange.dice);
    const response = await this.#arrive(exchange);
    await this.#way(exchange.dice);
    return response;
  }

  #arrive({ request, wire }: Exchange): Promise<Response> {
    this.#world.tell("server", { what: "arrives", request });
    return this.#server.handle(wire);
  }

  async #later(exchange: Exchange, ms: number): Promise<void> {
    await this.#world.pause(ms);
    await this.#arrive(exchange);
  }

  /**
   * A copy arrives as well, before or after. The client gets the answer of the one that was answered last: none that
   * says "not done" while the other does it.
   */
  async #twice(exchange: Exchange): Promise<Response> {
    const first = this.#deliver(exchange);
    await this.#world.pause(exchange.dice.pick([5, 500]));
    const second = this.#deliver({ ...exchange, dice: exchange.dice.fork("copy") });
    const answers = await Promise.all([first, second]);
    return answers.find(({ ok }) => ok) ?? answers[1];
  }

  #way(dice: Dice): Promise<void> {
    const { weather, calm } = this.#world;
    return this.#world.pause(calm ? 2 : dice.between(1, weather.latency));
  }
}

class Refused extends Error {}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Tells when the body was read to its end, or was not. */
function observed(response: Response, end: (ending: Ending) => void): Response {
  const { status } = response;
  const headers = Object.fromEntries(response.headers);
  // One that is followed is not read.
  if (status >= 300 && status < 400) end({ how: "answer", status, headers });
  const { body } = response;
  if (!body) {
    const read = response.arrayBuffer.bind(response);
    response.arrayBuffer = async () => {
      end({ how: "answer", status, headers });
      return read();
    };
    return response;
  }
  const open = body.getReader.bind(body) as () => ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  const getReader = (): ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> => {
    const reader = open();
    const read = reader.read.bind(reader);
    reader.read = async () => {
      try {
        const piece = await read();
        if (piece.done) end({ how: "answer", status, headers });
        return piece;
      } catch (error) {
        end({ how: "cut", status });
        throw error;
      }
    };
    return reader;
  };
  Object.assign(body, { getReader });
  return response;
}
