import type { Invariant } from "./invariant.js";

export const ownOwner: Invariant = {
  name: "I9",
  says: "an operation is only sent as the owner who recorded it",
  watch: (facts) => {
    const adopted = new Set<string>();
    return (event) => {
      if (event.what === "action" && event.action.do === "adopt") adopted.add(event.action.owner ?? "");
      if (event.what === "write" && event.before && event.after && event.before.owner !== event.after.owner) {
        if (!adopted.has(event.after.owner))
          return `${event.id} went from ${event.before.owner} to ${event.after.owner} by itself`;
      }
      if (event.what !== "fetch" || !event.durable || event.mayActFor === "*") return undefined;
      const { owner, id } = event.durable;
      if (facts.wasHandedInFlight(id, event.who)) return undefined;
      return event.mayActFor.includes(owner)
        ? undefined
        : `${id} of ${owner} was sent while ${event.mayActFor.join(", ") || "nobody"} was there`;
    };
  },
};
