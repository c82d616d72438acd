/** Who takes part: what they run on, and their modules below `contestants/`. */
export const contestants = [
  { id: "samekey-node", name: "samekey, SQLite", on: "node" },
  { id: "stripe", name: "stripe", on: "node" },
  { id: "stripe-kept", name: "stripe + a list in files", on: "node" },
  { id: "samekey-browser", name: "samekey, IndexedDB", on: "browser" },
  { id: "workbox", name: "workbox-background-sync", on: "browser", syncTag: "workbox-background-sync:transfers" },
  { id: "tanstack", name: "@tanstack/offline-transactions", on: "browser" },
  { id: "ky", name: "ky", on: "browser" },
  { id: "ky-local-storage", name: "ky + a list in localStorage", on: "browser" },
  { id: "ky-indexed-db", name: "ky + a list in IndexedDB", on: "browser" },
];
