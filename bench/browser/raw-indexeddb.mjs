/**
 * The limit of the IndexedDB store: one strict transaction that adds one row like its own to an object store like its
 * own, and nothing else.
 */
export async function rawTransaction() {
  const samekey = await open("samekey:bench");
  const [row] = await done(samekey.transaction("operations").objectStore("operations").getAll(null, 1));
  samekey.close();
  const database = await open("raw", (fresh) => {
    const store = fresh.createObjectStore("operations", { autoIncrement: true });
    store.createIndex("unique", "unique", { multiEntry: true, unique: true });
    store.createIndex("places", "places", { multiEntry: true });
  });
  return () =>
    new Promise((resolve, reject) => {
      const tx = database.transaction("operations", "readwrite", { durability: "strict" });
      const unique = row.unique.map((path) => [...path.slice(0, -1), crypto.randomUUID()]);
      tx.objectStore("operations").add({ ...row, unique });
      tx.oncomplete = resolve;
      tx.onabort = () => reject(tx.error);
      tx.commit();
    });
}

function open(name, create) {
  const request = indexedDB.open(name);
  request.onupgradeneeded = () => create?.(request.result);
  return done(request);
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
