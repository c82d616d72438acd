import { faultPoint } from "../../core/fault-point.js";
import type { Clock } from "../../store.js";
import type { Connection } from "./connection.js";
import { isLost, isStall, toStoreError } from "./errors.js";
import type { Mode, Outcome, Verb } from "./transaction.js";
import { transact } from "./transaction.js";
import { mustSync } from "./work.js";

/** With so many verbs a transaction takes no more that come while it is filled, so that it ends. */
const ENOUGH = 256;

interface Waiting extends Verb<unknown> {
  readonly settle: (outcome: Outcome) => void;
}

/** Sooner than a timer. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Group commit: verbs called in one task share a transaction, with those that come until it is committed. */
export class Queue {
  readonly connection: Connection;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;

  constructor(connection: Connection, clock: Clock) {
    this.connection = connection;
    this.#clock = clock;
  }

  submit<T>(verb: Verb<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) =>
        "error" in outcome ? toStoreError(outcome.error).then(reject, reject) : resolve(outcome.value as T);
      this.#waiting.push({ ...verb, settle });
      this.#draining ??= this.#drain();
    });
  }

  /** Settles what was submitted, and lets go of the connection. */
  async close(): Promise<void> {
    await this.#draining;
    this.connection.release();
  }

  async #drain(): Promise<void> {
    do {
      await undefined;
      // Nobody waits for a success to be written: whoever was told of it goes on first.
      if (this.#waiting.every((verb) => verb.writes && !verb.strict)) await nextTask();
      const verbs = this.#waiting.splice(0);
      const mode = { strict: verbs.some((verb) => verb.strict), writes: verbs.some((verb) => verb.writes) };
      await this.#commit(verbs, mode, () => this.#join(verbs, mode));
    } while (this.#waiting.length > 0);
    this.#draining = undefined;
  }

  /** Takes what has come since and may share the transaction; what may not, and all behind it, waits for the next. */
  #join(verbs: Waiting[], { strict, writes }: Mode): Waiting[] {
    if (verbs.length >= ENOUGH) return [];
    const end = this.#waiting.findIndex((verb) => (verb.strict && !strict) || (verb.writes && !writes));
    const joining = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
    verbs.push(...joining);
    return joining;
  }

  /** Verbs are idempotent until their transaction has committed, and so begun anew wherever it did not. */
  async #commit(verbs: readonly Waiting[], mode: Mode, more: () => Waiting[], reopened = false): Promise<void> {
    const opening = this.connection.database();
    let open = false;
    let outcomes: readonly Outcome[];
    try {
      const database = await opening;
      open = true;
      outcomes = await transact(database, verbs, mode, this.#clock, more);
    } catch (error) {
      if (error === mustSync) return this.#commit(verbs, { writes: true, strict: true }, more, reopened);
      if (isLost(error) && !reopened) {
        this.connection.drop(opening);
        return this.#commit(verbs, mode, more, true);
      }
      // Where it hangs, a new connection may not.
      if (isStall(error)) this.connection.drop(opening);
      else if (open && verbs.length > 1) {
        // One of them is at fault: each for itself, so that it fails alone.
        for (const verb of verbs) await this.#commit([verb], verb, () => [], reopened);
        return;
      }
      outcomes = verbs.map(() => ({ error }));
    }
    for (const [i, verb] of verbs.entries()) verb.settle(outcomes[i] as Outcome);
    FAULT: if (mode.writes) faultPoint("group:told");
  }
}
