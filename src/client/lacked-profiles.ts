import { type OperationRecord, readerOf } from "../core/record.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";

/**
 * Whether the record's answers are read by a profile that its operation does not have here. Without it a "still in progress"
 * passes for the outcome, so that such a record is left to the programs that have it.
 */
export function lacksProfile({ wire }: Pick<OperationRecord, "wire">, { profile }: ResolvedOperation): boolean {
  return wire.profile !== undefined && wire.profile !== profile?.name;
}

/** What was met and left to others: told in the log once for each operation, and left out of claims from then on. */
export class LackedProfiles {
  readonly #log: ResolvedOptions["log"];
  readonly #readers = new Set<string>();

  constructor({ log }: Pick<ResolvedOptions, "log">) {
    this.#log = log;
  }

  /** For `ClaimQuery.exceptReaders`. */
  get readers(): ReadonlySet<string> {
    return this.#readers;
  }

  meet(record: OperationRecord): void {
    const { id, name, wire } = record;
    const reader = readerOf(record);
    if (this.#readers.has(reader)) return;
    this.#readers.add(reader);
    const profile = JSON.stringify(wire.profile);
    const message =
      `\`${name}\` waits for a program that has the profile ${profile}, which reads its answers: ` +
      `declare \`${name}\` here with that profile, or keep a program running that does`;
    this.#log({ level: "warn", message, id, name });
  }
}
