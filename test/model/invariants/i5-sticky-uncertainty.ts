import type { OperationRecord, State } from "../../../src/core/record.js";
import type { Facts } from "./facts.js";
import type { Invariant } from "./invariant.js";

const REFUSED: readonly State[] = ["rejected", "misused", "expired", "canceled"];

export const stickyUncertainty: Invariant = {
  name: "I5",
  says: "what may have been applied is called refused only on an answer that speaks for the key",
  watch: (facts) => {
    const markedBy = new Map<string, string>();
    return (event) => {
      if (event.what === "effect") {
        const refused = [...facts.records.values()].find(
          (record) => isRefused(record) && isUnder(record, event.key, facts),
        );
        return refused && `${refused.id} is called ${refused.state}, and is applied now`;
      }
      if (event.what !== "write" || !event.after) return undefined;
      const { before, after, who } = event;
      if (after.mark && after.mark.attempt !== before?.mark?.attempt) markedBy.set(after.id, who);
      if (before) {
        const since = after.uncertainSince ?? Number.POSITIVE_INFINITY;
        if (before.uncertainSince !== undefined && since > before.uncertainSince)
          return `${after.id} forgot its uncertainty`;
        const isCleared =
          before.mark && after.mark?.attempt !== before.mark.attempt && after.uncertainSince === undefined;
        const isAnswered = after.response !== undefined && after.state !== "blocked" && after.state !== "pending";
        const isDecided = isAnswered || after.resolution !== undefined;
        if (isCleared && !isDecided && markedBy.get(after.id) !== who) {
          return `${after.id}: ${who} cleared the mark of ${markedBy.get(after.id)}, and no doubt was left`;
        }
      }
      if (!isRefused(after) || before?.state === after.state) return undefined;
      return judge(after, facts);
    };
  },
};

function isRefused({ state, resolution }: OperationRecord): boolean {
  return REFUSED.includes(state) && resolution === undefined;
}

/** A caller may use a key of his own again, for another operation: one that was purged may still go out under it. */
function isUnder({ id, seq }: OperationRecord, key: string, facts: Facts): boolean {
  if (facts.wasRemoved(key)) return false;
  return facts.requestsOf(key).every(({ record }) => record?.id === id && record.seq === seq);
}

function judge(record: OperationRecord, facts: Facts): string | undefined {
  const { id, state } = record;
  for (const key of facts.keysOf(record).filter((one) => isUnder(record, one, facts))) {
    if (facts.effectsOf(key) > 0) return `${id} is called ${state}, and was applied under ${key}`;
    const doubt = facts.firstUncertain(key);
    if (doubt && !facts.wasRefusedForGood(key))
      return `${id} is called ${state}, and request ${doubt.request} may have been applied`;
  }
  return undefined;
}
