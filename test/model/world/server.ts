import { ConformingServer } from "../../../src/testing/conforming.js";
import { MockRequest } from "../../../src/testing/mock-request.js";
import { route } from "../../../src/testing/routes.js";
import type { World } from "./world.js";

/** A request as it travels. */
export interface WireRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly key: string;
}

/**
 * The API: one effect per key within its window, by its own clock. What it says to a new key is drawn by the key, so that
 * it does not depend on when it is asked.
 */
export class Server {
  readonly #world: World;
  readonly #conforming: ConformingServer;
  /** Failures that it keeps and replays. */
  readonly #broken = new Set<string>();
  readonly #effects = new Map<string, number>();
  readonly #tries = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    const { weather, clock } = world;
    const dice = world.dice.fork("processing");
    const contract = {
      header: "idempotency-key",
      retention: weather.retention,
      quoted: false,
      get processing() {
        return world.calm || weather.processing === 0 ? 0 : dice.between(0, weather.processing);
      },
      clock: clock.steady,
    };
    const handler = (request: MockRequest): unknown => this.#decide(request);
    const posts = ["/transfers", "/notes", "/orders", "/signals", "/moved"];
    this.#conforming = new ConformingServer(
      contract,
      posts.map((path) => route("POST", path, handler)),
    );
  }

  /** How often something was done under a key. */
  effectsOf(key: string): number {
    return this.#effects.get(key) ?? 0;
  }

  async handle({ method, url, headers, body, key }: WireRequest): Promise<Response> {
    const bare = key.replace(/^"|"$/g, "");
    if (this.#isBroken(bare)) return this.#failure(bare);
    const { clock } = this.#world;
    const request = new MockRequest({ method, url, headers, body, key: bare, at: clock.steady.now(), params: {} });
    return this.#conforming.handle(request);
  }

  #isBroken(key: string): boolean {
    return this.#world.weather.business.breaks > 0 && this.#verdict(key, 0) === "breaks";
  }

  #failure(key: string): Response {
    const mark = this.#broken.has(key) ? "replayed" : "executed";
    this.#broken.add(key);
    const headers = { "idempotency-status": mark, date: new Date(this.#world.clock.steady.now()).toUTCString() };
    return Response.json({ error: "broken" }, { status: 500, headers });
  }

  #decide(request: MockRequest): unknown {
    const key = request.key ?? "";
    const tried = this.#tries.get(key) ?? 0;
    this.#tries.set(key, tried + 1);
    const dice = this.#world.dice.fork(`handler/${key}/${tried}`);
    switch (this.#verdict(key, tried)) {
      case "refuses":
        return Response.json({ error: "insufficient_funds" }, { status: dice.pick([400, 402, 403, 404, 409, 422]) });
      case "fails":
        return Response.json(
          { error: "try_again" },
          { status: dice.pick([500, 503]), headers: asking(dice.pick([0, 5, 60])) },
        );
      case "throttles":
        return Response.json({ error: "slow_down" }, { status: 429, headers: asking(dice.pick([0, 1, 30, 300])) });
      default: {
        const { ref = "?" } = request.json<{ ref?: string }>();
        this.#effects.set(key, this.effectsOf(key) + 1);
        this.#world.tell("server", { what: "effect", key, ref });
        return dice.chance(0.2) ? undefined : { done: ref };
      }
    }
  }

  /** A refusal is for ever, a failure passes. */
  #verdict(key: string, tried: number): string {
    const { dice, weather, calm } = this.#world;
    const verdict = dice.fork(`business/${key}`).weighted({ ...weather.business });
    const passes = (verdict === "fails" || verdict === "throttles") && (calm || tried > 1);
    return passes ? "accepts" : verdict;
  }
}

function asking(seconds: number): Record<string, string> {
  return seconds > 0 ? { "retry-after": String(seconds) } : {};
}
