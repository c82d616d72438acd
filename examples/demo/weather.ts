import type { Fault, Passed, Passing } from "./bad-network.js";
import type { Random } from "./random.js";

/** How often each fault happens, in per cent. */
const odds: Record<Fault, number> = {
  "lose request": 8,
  "lose response": 10,
  duplicate: 8,
  "503": 5,
  stall: 5,
  "cut body": 4,
  none: 60,
};
/** One entry per cent. */
const lots = Object.entries(odds).flatMap(([fault, percent]) => Array<Fault>(percent).fill(fault as Fault));

/** Decides what the network does, and counts it. */
export class Weather {
  /** Requests of the worker's, whatever became of them. */
  attempts = 0;
  /** Answers that the server gave from its record. */
  replays = 0;
  /** Answers 409: a copy of the same request was still under way. */
  busy = 0;
  /** How often each fault has happened. */
  readonly faults: Record<Fault, number>;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
    this.faults = Object.fromEntries(Object.keys(odds).map((fault) => [fault, 0])) as Record<Fault, number>;
  }

  readonly fault = (): Fault => {
    this.attempts++;
    const fault = lots[Math.floor(this.#random() * lots.length)] ?? "none";
    this.faults[fault]++;
    return fault;
  };

  /** How long a request travels, in milliseconds. */
  readonly delay = (): number => 5 + this.#random() * 80;

  /** How long an answer stalls, in milliseconds: some longer than an attempt may take. */
  readonly stall = (): number => 200 + this.#random() * 1_200;

  readonly onAnswer = (_: Passing, { status, headers }: Passed): void => {
    if (headers["idempotency-status"] === "replayed") this.replays++;
    if (status === 409) this.busy++;
  };
}
