import { isUncertain, type OperationRecord } from "../../../src/core/record.js";
import type { Sent } from "../trace.js";
import type { Invariant } from "./invariant.js";

export const durableFirst: Invariant = {
  name: "I1",
  says: "no byte goes on the wire before its key, its bytes and the mark are synced; what could not be recorded is not sent",
  watch: (facts) => {
    /** By client and id: what was said not to be recorded, and what it is called in the program. */
    const unrecorded = new Map<string, string>();
    /** By client and what it is called: how many calls there were. */
    const calls = new Map<string, number>();
    return (event) => {
      if (event.what === "told" && event.answer.startsWith("StoreError") && event.action.do === "operate" && event.id) {
        unrecorded.set(`${event.who} ${event.id}`, event.action.ref);
      }
      // Another client may come upon it before it can be withdrawn.
      if (event.what === "write") {
        for (const one of unrecorded.keys()) {
          if (one.endsWith(event.id) && !one.startsWith(`${event.who} `)) unrecorded.delete(one);
        }
      }
      // To send the same once more is to record it once more.
      if (event.what === "action" && "ref" in event.action) {
        const call = `${event.who} ${event.action.ref}`;
        calls.set(call, (calls.get(call) ?? 0) + 1);
        for (const [one, ref] of unrecorded) if (ref === event.action.ref) unrecorded.delete(one);
      }
      if (event.what !== "fetch") return undefined;
      const record = facts.recordOf(event);
      if (record && unrecorded.has(`${event.who} ${record.id}`)) {
        return `${record.id} was sent after a StoreError told that it is not`;
      }
      return judge(event, record);
    };
  },
};

function judge({ key, body, method }: Sent, durable: OperationRecord | undefined): string | undefined {
  if (durable?.wire.value !== key) return `key ${key} was sent, and no synced record has it`;
  // Somebody elsewhere, to whom the lease looked over, has decided about it while its attempt was being made ready.
  const isDecided = durable.resolution !== undefined;
  if (!isUncertain(durable) && !isDecided)
    return `key ${key} was sent, and its synced record does not say that it may have been`;
  const bytes = new TextDecoder().decode(durable.request.body);
  if (bytes !== body || durable.request.method !== method) return `key ${key} was sent with other bytes than recorded`;
  return undefined;
}
