/** What a person can decide about an operation as it stands, and how it is asked. */

import { isSettled, isUncertain, type OperationRecord, windowEnd } from "../core/record.js";
import type { Sdk } from "../index.js";

/** One decision. */
export interface Decision {
  readonly label: string;
  /** What it comes to, to be read before it is confirmed. */
  readonly means: string;
  /** Asked for with it; without one there is nothing to write. */
  readonly reason?: string;
  act(sdk: Sdk, reason: string): Promise<unknown>;
}

/** Those there are, the least harmful first. */
export function decisionsOn(record: OperationRecord, now: number): readonly Decision[] {
  const { id, state, sentAt } = record;
  if (isSettled(record)) return [];
  const end = windowEnd(record);
  const isOver = end !== undefined && end <= now;
  const isDead = state === "unresolved";
  const doubtful = isUncertain(record);
  const decisions: (Decision | false)[] = [
    !(isDead && isOver) && {
      label: state === "pending" ? "Try now" : "Retry",
      means: "It is sent again under the same key, so it cannot be applied twice.",
      act: (sdk) => sdk.retry(id),
    },
    sentAt === undefined &&
      !doubtful && {
        label: "Cancel",
        means: "It was never sent, and never will be.",
        act: (sdk) => sdk.cancel(id),
      },
    doubtful && {
      label: "It was applied",
      means: "You have found out that the server applied it. It counts as succeeded.",
      act: (sdk) => sdk.reconcile(id, "applied"),
    },
    doubtful && {
      label: "It was not applied",
      means: "You have found out that the server did not apply it. It counts as rejected, and may be asked for anew.",
      act: (sdk) => sdk.reconcile(id, "not-applied"),
    },
    isDead &&
      isOver && {
        label: "Reissue",
        means:
          "You have found out that the server did not apply it. A new operation with the same content is sent in its place, " +
          "under a new key. If the old one was applied after all, it is then applied twice.",
        reason: "What did you find out, and how?",
        act: (sdk, afterReconciling) => sdk.reissue(id, { afterReconciling }),
      },
    {
      label: "Discard",
      means: doubtful
        ? "It is given up. It may have been applied, and nobody will look any more."
        : "It is given up. Nothing was applied.",
      reason: "Why?",
      act: (sdk, reason) => sdk.discard(id, { reason }),
    },
  ];
  return decisions.filter((decision) => decision !== false);
}
