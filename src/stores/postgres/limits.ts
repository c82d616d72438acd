/** How many may wait: looked at before anything is written, so that a refusal leaves the rest of a batch alone. */

import type { NewRecord } from "../../core/record.js";
import type { StoreError } from "../../errors.js";
import type { InsertLimits } from "../../store.js";
import { mostBeside, tooMany, waiting } from "../stamp.js";
import type { Transaction } from "./transaction.js";
import { counts } from "./verbs.js";

/** A record that is to be inserted. */
export interface Asked {
  readonly record: NewRecord;
  readonly limits?: InsertLimits | undefined;
}

/**
 * Those that are one too many, and join no earlier one. What other processes insert at the same moment is not seen: nobody
 * waits for anybody here.
 */
export async function refusals(tx: Transaction, asked: readonly Asked[]): Promise<ReadonlyMap<Asked, StoreError>> {
  const refused = new Map<Asked, StoreError>();
  const bounded = asked.filter(({ record, limits }) => mostBeside(record, limits) !== undefined);
  if (bounded.length === 0) return refused;
  let beside = waiting(await counts(tx, undefined));
  for (const one of bounded) {
    const most = mostBeside(one.record, one.limits) as number;
    if (beside + bounded.length - 1 > most && (await tx.standing(one.record))) continue;
    if (beside > most) refused.set(one, tooMany(one.record, one.limits));
    else beside += 1;
  }
  return refused;
}
