import type { OperationRecord } from "../../../src/core/record.js";
import type { Invariant } from "./invariant.js";

export const oneKey: Invariant = {
  name: "I3",
  says: "one intent never gets a second key while the first may have been applied",
  watch: (facts) => {
    const keys = new Map<string, Set<string>>();
    const intents = new Map<string, string>();
    return (event) => {
      if (event.what === "fetch" && event.durable?.intent !== undefined) {
        const intent = nameOf(event.durable);
        const used = keys.get(intent) ?? new Set();
        keys.set(intent, used.add(event.key));
        intents.set(event.key, intent);
        // Purged in another tab while its attempt was made ready here: it goes out all the same.
        const sent = facts.recordOf(event);
        const isRemoved = sent !== undefined && facts.records.get(sent.id)?.seq !== sent.seq;
        for (const other of isRemoved ? [] : used) {
          if (other === event.key || facts.released.has(other)) continue;
          if (facts.effectsOf(other) > 0)
            return `${intent} goes out under ${event.key}, and was applied under ${other}`;
          const doubt = facts.firstUncertain(other);
          if (doubt && !facts.wasRefusedForGood(other)) {
            return `${intent} goes out under ${event.key}, and request ${doubt.request} under ${other} may have been applied`;
          }
        }
      }
      if (event.what === "effect") {
        if (facts.effectsOf(event.key) > 1) return `${event.key} was applied twice: the server is at fault`;
        const intent = intents.get(event.key);
        for (const other of keys.get(intent ?? "") ?? []) {
          const twice = other !== event.key && facts.effectsOf(other) > 0 && !facts.released.has(other);
          if (twice && !facts.released.has(event.key)) return `${intent} was applied under ${other} and ${event.key}`;
        }
      }
      return undefined;
    };
  },
};

function nameOf({ owner, name, intent }: OperationRecord): string {
  return JSON.stringify([owner, name, intent]);
}
