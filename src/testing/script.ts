import type { Chaos } from "./chaos.js";
import type { Fault } from "./faults.js";

/** A fault, or several that meet the same request: the first stands next to the client, the last next to the server. */
export type Step = Fault | readonly Fault[];

/** What goes wrong next. */
export class Script {
  readonly #steps: { readonly faults: readonly Fault[]; left: number }[] = [];
  chaos: Chaos | undefined;

  add(steps: readonly Step[]): void {
    for (const step of steps) {
      const faults = "apply" in step ? [step] : step;
      this.#steps.push({ faults, left: Math.max(0, ...faults.map(({ times }) => times)) });
    }
  }

  /** The faults of the next request: scripted ones first, chaos when there are none left. */
  next(): readonly Fault[] {
    while (this.#steps[0] && this.#steps[0].left <= 0) this.#steps.shift();
    const [step] = this.#steps;
    if (!step) return this.chaos?.() ?? [];
    step.left -= 1;
    return step.faults;
  }

  clear(): void {
    this.#steps.length = 0;
    this.chaos = undefined;
  }
}
