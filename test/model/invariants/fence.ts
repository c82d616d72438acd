import type { Invariant } from "./invariant.js";

export const fence: Invariant = {
  name: "fence",
  says: "what an attempt brings home counts only under the claim it was made with, unless it is beyond doubt",
  watch: () => {
    const markedBy = new Map<string, string>();
    return (event) => {
      if (event.what !== "write" || !event.after) return undefined;
      const { before, after, who } = event;
      const maker = markedBy.get(after.id);
      if (after.mark && after.mark.attempt !== before?.mark?.attempt) markedBy.set(after.id, who);
      const isOpen = after.state === "pending" || after.state === "blocked";
      const isEnded = before?.mark && !after.mark && isOpen && after.fence === before.fence;
      return isEnded && maker !== who ? `${who} ended the attempt of ${maker} at ${after.id}` : undefined;
    };
  },
};
