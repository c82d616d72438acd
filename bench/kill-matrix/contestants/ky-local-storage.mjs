import { kyWith } from "./ky-list.mjs";

const PREFIX = "order:";
const storage = {
  get: (order) => JSON.parse(localStorage.getItem(PREFIX + order)) ?? undefined,
  put: (entry) => localStorage.setItem(PREFIX + entry.order, JSON.stringify(entry)),
  all: () =>
    Object.keys(localStorage)
      .filter((name) => name.startsWith(PREFIX))
      .map((name) => JSON.parse(localStorage.getItem(name))),
};

export const open = ({ window }) => kyWith(storage, window);
