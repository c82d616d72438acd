import type { OperationRecord } from "../core/record.js";
import { transition } from "../core/transition.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";
import type { Worker } from "./worker.js";

/** What unblocking is done with. */
export interface UnblockParts {
  readonly journal: Journal;
  readonly options: ResolvedOptions;
  readonly worker: Worker;
}

/** Has a blocked operation go on, unless something else has become of it since it was looked at. */
export async function unblock({ journal, options, worker }: UnblockParts, seen: OperationRecord): Promise<void> {
  if (worker.lacksProfile(seen)) return;
  const event = { type: "retry", at: options.clock.now(), hook: worker.operationOf(seen).hooked } as const;
  await journal.update(seen.id, (standing) => {
    return standing.seq === seen.seq && standing.blockedBy === seen.blockedBy ? transition(standing, event) : standing;
  });
}

/** Blocked by a program that lacks the seal's key; this one has it. */
export function isSealedElsewhere({ blockedBy, request }: OperationRecord): boolean {
  return blockedBy === "sealed" && !request.sealed;
}
