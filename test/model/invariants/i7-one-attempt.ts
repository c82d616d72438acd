import type { Invariant } from "./invariant.js";

export const oneAttempt: Invariant = {
  name: "I7",
  says: "at most one attempt of an operation is in flight, as long as nobody is frozen past a lease",
  watch: (facts) => (event) => {
    if (event.what !== "fetch" || !event.durable) return undefined;
    const { id } = event.durable;
    for (const other of facts.requests.values()) {
      const isUnderWay = other.record?.id === id && other.request !== event.request && other.ending === undefined;
      if (!isUnderWay || facts.dead.has(other.who)) continue;
      // A lease that cannot be renewed, or is read on another clock, may be over.
      const isExcused = facts.frozen.has(other.who) || facts.jumps > 0 || facts.storeFailedAt > other.at - 60_000;
      if (other.who === event.who || !isExcused)
        return `requests ${other.request} and ${event.request} of ${id} are under way at once`;
    }
    return undefined;
  },
};
