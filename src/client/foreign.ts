import type { OperationRecord } from "../core/record.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";

/**
 * Whether the record's answers are read by a profile that its operation does not have here. Without it a "still in progress"
 * passes for the outcome, so that such a record is left to the programs that have it.
 */
export function isForeign({ wire }: Pick<OperationRecord, "wire">, { profile }: ResolvedOperation): boolean {
  return wire.profile !== undefined && wire.profile !== profile?.name;
}

/** Tells in the log what is left to others, once for each operation. */
export class ForeignNotice {
  readonly #log: ResolvedOptions["log"];
  readonly #told = new Set<string>();

  constructor({ log }: Pick<ResolvedOptions, "log">) {
    this.#log = log;
  }

  tell({ id, name, wire }: OperationRecord): void {
    if (this.#told.has(name)) return;
    this.#told.add(name);
    const profile = JSON.stringify(wire.profile);
    const message =
      `\`${name}\` waits for a program that has the profile ${profile}, which reads its answers: ` +
      `declare \`${name}\` here with that profile, or keep a program running that does`;
    this.#log({ level: "warn", message, id, name });
  }
}
