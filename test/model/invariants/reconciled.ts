import type { Request } from "./facts.js";
import type { Invariant } from "./invariant.js";

export const reconciledAsAsked: Invariant = {
  name: "reconciled",
  says: "a hook that looked for what became of an operation answers for no attempt that was made since",
  watch: (facts) => {
    /** By client and id: how many attempts there had been when it looked. */
    const looked = new Map<string, number>();
    /** Clients whose users decide as well. */
    const deciding = new Set<string>();
    return (event) => {
      if (event.what === "action" && event.action.do === "reconcile") deciding.add(event.who);
      if (event.what === "looks") looked.set(`${event.who} ${event.record.id}`, event.record.attempts);
      if (event.what !== "write" || !event.after?.resolution || event.before?.resolution) return undefined;
      const { resolution, id } = event.after;
      const attempts = looked.get(`${event.who} ${id}`);
      if (attempts === undefined || resolution.how === "discarded" || deciding.has(event.who)) return undefined;
      const isLater = ({ record }: Request): boolean =>
        record?.id === id && record.seq === event.after?.seq && record.attempts > attempts;
      const later = [...facts.requests.values()].find(isLater);
      return later && `${id} is ${resolution.how} by a look that was before request ${later.request}`;
    };
  },
};
