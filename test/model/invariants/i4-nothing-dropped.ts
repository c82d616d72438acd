import { isSettled, type OperationRecord } from "../../../src/core/record.js";
import { KEEP_FOR } from "../world/client.js";
import type { Invariant } from "./invariant.js";

export const nothingDropped: Invariant = {
  name: "I4",
  says: "a record leaves the store only when settled, delivered and past its keep time, or by an explicit call",
  watch: (facts) => {
    const delivered = new Set<string>();
    const acknowledged = new Set<string>();
    return (event) => {
      if (event.what === "hook" && event.ok) delivered.add(nameOf(event.record));
      if (event.what === "told" && event.id && event.answer === "ok" && facts.records.has(event.id))
        acknowledged.add(event.id);
      if (event.what === "power") {
        const lost = [...acknowledged].find((id) => !facts.records.has(id));
        return lost && `${lost} was told to be recorded, and a power failure took it`;
      }
      if (event.what !== "write" || !event.before) return undefined;
      const { before, after } = event;
      if (!after) acknowledged.delete(before.id);
      if (after && !before.delivered && after.delivered) {
        // Whoever cancels what he was told is not recorded has been told enough.
        const told = delivered.has(nameOf(after)) || after.name === "note" || after.state === "canceled";
        if (!told) return `${after.id} counts as delivered, and nobody was told ${after.state}`;
      }
      const strips = after ? before.request.body !== undefined && after.request.body === undefined : true;
      if (!strips || facts.purged.has(before.owner)) return undefined;
      // It may have been put back while this was being written.
      const clock = event.clock + facts.setBack + START;
      const isOver = isSettled(before) && before.delivered && (before.settledAt ?? 0) < clock - KEEP_FOR;
      return isOver ? undefined : `${before.id} (${before.state}) was ${after ? "stripped" : "removed"}`;
    };
  },
};

const START = Date.UTC(2026, 0, 1);

function nameOf({ id, state, settledAt }: OperationRecord): string {
  return JSON.stringify([id, state, settledAt]);
}
