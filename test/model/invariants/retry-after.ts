import type { Invariant } from "./invariant.js";

/** By how much clocks may differ that go by the same store. */
const BLUR = 1_000;

export const retryAfter: Invariant = {
  name: "Retry-After",
  says: "a wait that the server asked for is kept to, over restarts too",
  watch: (facts) => {
    /** By client: what the last answer asked for, until it is written down. */
    const asked = new Map<string, { readonly key: string; readonly until: number }>();
    const floors = new Map<string, number>();
    /** A person may say that it is time. */
    let isHurried = false;
    return (event) => {
      if (event.what === "end" && event.how === "answer") {
        const { key = "" } = facts.requests.get(event.request) ?? {};
        const seconds = Number(event.headers["retry-after"] ?? 0);
        asked.set(`${event.who} ${key}`, { key, until: event.at + seconds * 1000 });
      }
      if (event.what === "power" || event.what === "fault") floors.clear();
      if (event.what === "action" && event.action.do === "retry") isHurried = true;
      if (event.what === "write" && !event.after) floors.delete(event.id);
      if (event.what === "write" && event.after) {
        const told = asked.get(`${event.who} ${event.after.key}`);
        const isOver = event.before?.mark && !event.after.mark && event.after.state === "pending";
        if (told && isOver) floors.set(event.id, told.until);
        if (event.after.state !== "pending") floors.delete(event.id);
        asked.delete(`${event.who} ${event.after.key}`);
      }
      // By a clock that has jumped nobody can wait.
      if (event.what !== "fetch" || !event.durable || facts.jumps > 0 || isHurried) return undefined;
      const until = floors.get(event.durable.id) ?? 0;
      return event.at < until - BLUR
        ? `request ${event.request} starts ${until - event.at} ms before the server wants to be asked`
        : undefined;
    };
  },
};
