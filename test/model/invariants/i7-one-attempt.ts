import type { Invariant } from "./invariant.js";

export const oneAttempt: Invariant = {
  name: "I7",
  says: "at most one attempt of an operation is in flight, as long as nobody is frozen past a lease",
  watch: (facts) => (event) => {
    if (event.what !== "fetch" || !event.durable) return undefined;
    // One that another has purged meanwhile may still go out, under a key that its intent gives the next one as well.
    if (facts.wasRemoved(event.key)) return undefined;
    const { id } = event.durable;
    const record = facts.recordOf(event) ?? event.durable;
    const other = facts
      .underWay(record)
      .find(({ request, who, mayBeLost }) => request !== event.request && (who === event.who || !mayBeLost));
    return other && `requests ${other.request} and ${event.request} of ${id} are under way at once`;
  },
};
