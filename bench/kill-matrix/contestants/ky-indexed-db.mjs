import { kyWith } from "./ky-list.mjs";

const done = (request, event = "onsuccess") =>
  new Promise((resolve, reject) => {
    request[event] = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** A row per order, synced before anything is sent; what is in there is read once, at the start. */
async function rows() {
  const opening = indexedDB.open("orders");
  opening.onupgradeneeded = () => opening.result.createObjectStore("orders", { keyPath: "order" });
  const database = await done(opening);
  const found = await done(database.transaction("orders").objectStore("orders").getAll());
  const entries = new Map(found.map((entry) => [entry.order, entry]));
  return {
    get: (order) => entries.get(order),
    all: () => [...entries.values()],
    put(entry) {
      entries.set(entry.order, entry);
      const transaction = database.transaction("orders", "readwrite", { durability: "strict" });
      transaction.objectStore("orders").put(entry);
      return done(transaction, "oncomplete");
    },
  };
}

export const open = async ({ window }) => kyWith(await rows(), window);
