import type { OperationRecord } from "../../../src/core/record.js";
import { hasOutcome } from "../../../src/core/record.js";
import type { Invariant } from "./invariant.js";

export const liveness: Invariant = {
  name: "liveness",
  says: "when the faults stop, all settles, or says what it waits for",
  watch: () => (event) => {
    if (event.what !== "over") return undefined;
    for (const record of event.records) {
      const isOwed = hasOutcome(record) && !record.delivered;
      if (isOwed) return `${record.id} is ${record.state}, and its hook was never told`;
      if (record.state === "pending" && !waitsForHead(record, event.records)) return `${record.id} is still pending`;
      if (record.state === "blocked" && record.blockedBy === "credentials")
        return `${record.id} still waits for credentials`;
    }
    const [open] = event.open;
    return open && `call #${open.n} (${open.action.do}) came to nothing`;
  },
};

/** Behind one of its lane that needs a person. */
function waitsForHead({ parked, lane, owner }: OperationRecord, records: readonly OperationRecord[]): boolean {
  const heads = records.filter((record) => record.lane === lane && record.owner === owner && !record.parked);
  return parked === true && heads.some(({ state }) => state === "blocked" || state === "unresolved");
}
