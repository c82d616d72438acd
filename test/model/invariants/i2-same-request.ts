import { provesNothingDone } from "./facts.js";
import type { Invariant } from "./invariant.js";

export const sameRequest: Invariant = {
  name: "I2",
  says: "every attempt carries the same key and the same method, URL and bytes",
  watch: (facts) => {
    const first = new Map<string, string>();
    return (event) => {
      const durable = event.what === "fetch" ? facts.recordOf(event) : undefined;
      if (event.what !== "fetch" || !durable) return undefined;
      const { key, url, method, body, contentType, who, request } = event;
      const life = `${durable.id}/${durable.seq}`;
      const what = JSON.stringify([method, body, contentType]);
      const known = first.get(life) ?? what;
      first.set(life, known);
      if (known !== what) return `${durable.id} was sent as ${known} before, and as ${what} now`;
      for (const other of facts.keysOf(durable)) {
        const doubtful = facts.requestsOf(other).find(({ ending }) => other !== key && !provesNothingDone(ending));
        if (doubtful)
          return `${durable.id} goes out under ${key}, and request ${doubtful.request} under ${other} may have been applied`;
      }
      if (url === durable.request.url) return undefined;
      const led = [...facts.requests.values()].some(
        ({ ending, who: by, request: n }) =>
          by === who && n < request && ending?.how === "answer" && ending.headers["location"] === url,
      );
      return led ? undefined : `${durable.id} was sent to ${url}`;
    };
  },
};
