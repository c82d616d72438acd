import { type Duration, toMs } from "../core/durations.js";
import { fraction } from "../core/random.js";
import { conflict, cut, delay, duplicate, type Fault, late, lose, status, unreachable } from "./faults.js";
import { seededRandom } from "./random.js";

/** How often each fault happens: 0 is never, 1 always. They are drawn independently, so a request can meet several. */
export interface ChaosRates {
  readonly unreachable?: number | undefined;
  readonly loseRequest?: number | undefined;
  readonly late?: number | undefined;
  readonly loseResponse?: number | undefined;
  readonly cutBody?: number | undefined;
  readonly conflict?: number | undefined;
  /** 503 from in front of the server. */
  readonly unavailable?: number | undefined;
  /** 504 for a request that was applied nevertheless. */
  readonly gatewayTimeout?: number | undefined;
  readonly delay?: number | undefined;
  readonly duplicate?: number | undefined;
}

/** Options of {@link MockServer.chaos}. */
export interface ChaosOptions {
  /** The same seed and the same order of requests give the same faults. */
  readonly seed: number | string;
  /** Those not named never happen. @defaultValue 0.08 for every one */
  readonly rates?: ChaosRates | undefined;
  /** The longest delay. @defaultValue "5s" */
  readonly delay?: Duration | undefined;
}

/** Draws the faults of one request. */
export type Chaos = () => readonly Fault[];

const EVERY_ONE = 0.08;

/** Faults at random, from a seed. */
export function createChaos({ seed, rates, delay: longest = "5s" }: ChaosOptions): Chaos {
  const random = seededRandom(seed);
  const limit = toMs(longest, "delay");
  // From the client to the server: the order in which they stand around a request.
  const faults: [keyof ChaosRates, (ms: number) => Fault][] = [
    ["unreachable", () => unreachable()],
    ["delay", (ms) => delay(ms)],
    ["cutBody", () => cut.body()],
    ["loseResponse", () => lose.response()],
    ["loseRequest", () => lose.request()],
    ["late", (ms) => late(ms)],
    ["gatewayTimeout", () => status(504, { applied: true })],
    ["unavailable", () => status(503, { headers: { "retry-after": "1" } })],
    ["conflict", () => conflict()],
    ["duplicate", (ms) => duplicate({ after: Math.ceil(ms / 100) })],
  ];
  return () =>
    faults.flatMap(([name, make]) => {
      // Always two draws, so that one rate does not shift what the others draw.
      const [chance, length] = [fraction(random), fraction(random)];
      return chance < (rates ? (rates[name] ?? 0) : EVERY_ONE) ? [make(Math.round(length * limit))] : [];
    });
}
