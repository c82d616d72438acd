import type { Invariant } from "./invariant.js";

const START = Date.UTC(2026, 0, 1);

export const beforeTheDeadline: Invariant = {
  name: "deadline",
  says: "no attempt starts after the operation's deadline",
  watch: () => (event) => {
    const { deadline, id } = (event.what === "fetch" && event.durable) || {};
    if (deadline === undefined || event.clock + START < deadline) return undefined;
    return `${id} is sent ${event.clock + START - deadline} ms after its deadline`;
  },
};
