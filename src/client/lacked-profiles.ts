import { type OperationRecord, readerOf } from "../core/record.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";

/**
 * Whether the record's answers are read by a profile that its operation does not have here. Without it a "still in progress"
 * passes for the outcome, so that such a record is left to the programs that have it.
 */
export function lacksProfile({ wire }: Pick<OperationRecord, "wire">, { profile }: ResolvedOperation): boolean {
  return wire.profile !== undefined && wire.profile !== profile?.name;
}

/** Notes that a record was left to others; tells in the log once for each operation. */
export function noteLacking(lacking: Set<string>, record: OperationRecord, log: ResolvedOptions["log"]): void {
  const { id, name, wire } = record;
  const reader = readerOf(record);
  if (lacking.has(reader)) return;
  lacking.add(reader);
  const message = `\`${name}\` waits for a program that declares it with the profile "${wire.profile}"`;
  log({ level: "warn", message, id, name });
}
