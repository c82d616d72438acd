import { speaks } from "./facts.js";
import type { Invariant } from "./invariant.js";

export const wholeSuccess: Invariant = {
  name: "success",
  says: "succeeded means: done by the server, and its answer read to the last byte",
  watch: (facts) => (event) => {
    if (event.what !== "write" || event.after?.state !== "succeeded" || event.before?.state === "succeeded")
      return undefined;
    const { id, key, resolution } = event.after;
    if (resolution) return undefined;
    const isHeard = facts.requestsOf(key).some(({ ending }) => {
      if (ending?.how !== "answer") return false;
      return (ending.status >= 200 && ending.status < 300) || (ending.status < 400 && speaks(ending));
    });
    if (!isHeard) return `${id} is called succeeded, and no whole answer has said so`;
    return facts.effectsOf(key) > 0 ? undefined : `${id} is called succeeded, and nothing was done under ${key}`;
  },
};
