import { fraction, type Random } from "../../../src/core/random.js";
import { seededRandom } from "../../../src/testing/random.js";

/** Chance that repeats itself. Forks are independent: what one draws does not shift what another does. */
export class Dice {
  readonly bytes: Random;
  readonly #seed: string;

  constructor(seed: string) {
    this.#seed = seed;
    this.bytes = seededRandom(seed);
  }

  fork(name: string): Dice {
    return new Dice(`${this.#seed}/${name}`);
  }

  /** In [0, 1). */
  fraction(): number {
    return fraction(this.bytes);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }

  /** One of the names, each as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      if (left < weight) return name;
      left -= weight;
    }
    throw new Error("nothing has any weight");
  }
}
