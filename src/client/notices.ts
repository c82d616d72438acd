import { type OperationRecord, waitsLong } from "../core/record.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";

/** Tells in the log what an attempt came to and nobody would notice. */
export class Notices {
  readonly #log: ResolvedOptions["log"];
  /** Origins that asked for a long wait, and have not answered otherwise since. */
  readonly #waiting = new Set<string>();

  constructor({ log }: Pick<ResolvedOptions, "log">) {
    this.#log = log;
  }

  consider(record: OperationRecord, { retry }: ResolvedOperation, exceeded: number | undefined): void {
    const { id, name, origin, delay, nextAttemptAt } = record;
    const warn = (message: string): void => this.#log({ level: "warn", message, id, name });
    if (exceeded) warn(`the answer has more bytes than \`maxResponse\` allows (${exceeded}), and is not kept`);
    if (!waitsLong(record) || delay <= retry.backgroundCap) this.#waiting.delete(origin);
    else if (!this.#waiting.has(origin)) {
      this.#waiting.add(origin);
      const until = new Date(nextAttemptAt).toISOString();
      warn(`${origin} asks to wait until ${until}: nothing is sent before, unless by \`retry(id)\``);
    }
  }
}
