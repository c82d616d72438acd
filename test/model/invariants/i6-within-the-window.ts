import type { Invariant } from "./invariant.js";

/** The server's clock is told in whole seconds, and its answer is a while on its way: the margin is there for that. */
const BLUR = 4_000;

export const withinTheWindow: Invariant = {
  name: "I6",
  says: "no attempt starts later than the key's retention, less a margin, after the first that may have been applied",
  watch: (facts) => (event) => {
    if (event.what !== "fetch" || !event.durable) return undefined;
    const { retention, dedupes } = event.durable.wire;
    const first = facts.firstUncertain(event.key, facts.recordOf(event));
    if (!first || first.request === event.request) return undefined;
    if (!dedupes) return `${event.durable.id} is not deduplicated, and request ${first.request} may have been applied`;
    const limit = retention - Math.min(5 * 60_000, Math.ceil(retention / 10)) + BLUR;
    const elapsed = event.at - first.at;
    // A clock that was put back cannot tell; nobody else can be asked.
    const isLate = elapsed > limit && event.clock - first.clock > limit && elapsed - facts.setBack > limit;
    return isLate ? `request ${event.request} starts ${elapsed} ms after request ${first.request}` : undefined;
  },
};
