import type { Invariant } from "./invariant.js";

export const decidedAtRest: Invariant = {
  name: "decided",
  says: "nobody decides about an operation while an attempt of it is in flight",
  watch: (facts) => (event) => {
    if (event.what !== "write" || !event.before || !event.after) return undefined;
    const { before, after, id } = event;
    const isDecided = after.resolution !== undefined && before.resolution === undefined;
    if (!isDecided && before.owner === after.owner) return undefined;
    const underWay = facts.underWay(before).find(({ mayBeLost }) => !mayBeLost);
    const what = isDecided ? `resolved as ${after.resolution?.how}` : `handed to ${after.owner}`;
    return underWay && `${id} is ${what} while request ${underWay.request} is under way`;
  },
};
