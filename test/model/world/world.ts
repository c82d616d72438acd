import { createVirtualClock, type VirtualClock } from "../../../src/testing/virtual-clock.js";
import type { Happening, ModelEvent } from "../trace.js";
import { Dice } from "./dice.js";
import { drawWeather, type Weather } from "./weather.js";

const START = Date.UTC(2026, 0, 1);

/** What all parts of one run share: time, chance, and the record of what happened. */
export class World {
  readonly dice: Dice;
  readonly weather: Weather;
  readonly clock: VirtualClock;
  readonly #watch: (event: ModelEvent) => void;
  /** Faults are over: from here on everything works. */
  calm = false;
  #stop: () => void = () => {};
  #turns = 0;

  /** @param watch - sees everything at the moment when it happens */
  constructor(seed: string, watch: (event: ModelEvent) => void) {
    this.dice = new Dice(seed);
    this.weather = drawWeather(this.dice.fork("weather"));
    this.clock = createVirtualClock({ start: START, settle: () => this.#turn() });
    this.#watch = watch;
  }

  /** Milliseconds since the beginning, by the true clock. */
  get now(): number {
    return this.clock.now() - START;
  }

  /** @param offset - by how much the clock of whom it concerns is off */
  tell(who: string, happening: Happening, offset = 0): void {
    const at = this.now;
    this.#watch({ at, who, clock: at + offset, ...happening });
  }

  /** Asked at every step; throws to end the run. */
  stopWhen(stop: () => void): void {
    this.#stop = stop;
  }

  pause(ms: number): Promise<void> {
    return this.clock.sleep(Math.max(1, Math.round(ms)));
  }

  async #turn(): Promise<void> {
    this.#turns += 1;
    if (this.#turns > 200_000) throw new Error(`a loop at ${this.now} ms`);
    await turn();
    this.#stop();
  }
}

// Taken once: during a run the global timers are out of reach.
const { setImmediate } = globalThis;

/** All microtasks run: nothing in a run waits for anything but them and the virtual clock. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
