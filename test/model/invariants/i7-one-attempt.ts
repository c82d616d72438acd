import type { Invariant } from "./invariant.js";

export const oneAttempt: Invariant = {
  name: "I7",
  says: "at most one attempt of an operation is in flight, as long as nobody is frozen past a lease",
  watch: (facts) => (event) => {
    if (event.what !== "fetch" || !event.durable) return undefined;
    const { id } = event.durable;
    const record = facts.recordOf(event) ?? event.durable;
    const other = facts
      .underWay(record)
      .find(({ request, who, mayBeLost }) => request !== event.request && (who === event.who || !mayBeLost));
    return other && `requests ${other.request} and ${event.request} of ${id} are under way at once`;
  },
};
