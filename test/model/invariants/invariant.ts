import type { ModelEvent } from "../trace.js";
import type { Facts } from "./facts.js";

/** Looks at one event after the other; answers with what is wrong. */
export type Check = (event: ModelEvent) => string | undefined;

/** Something that has to hold at every step of every run. */
export interface Invariant {
  /** As in the documentation: `I1` to `I10`, or what it is about. */
  readonly name: string;
  readonly says: string;
  /** Watches one run. The facts are those of the run up to the event, that included. */
  readonly watch: (facts: Facts) => Check;
}
