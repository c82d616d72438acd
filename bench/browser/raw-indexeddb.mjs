/**
 * The limit of the IndexedDB store: one strict transaction that adds the row which samekey adds to an object store like
 * its own, and nothing else.
 *
 * @param send - sends one operation with samekey
 */
export async function rawTransaction(send) {
  const row = await rowOf(send);
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

/** As it was added: later it stands in the database with other index entries, and which those are is a race. */
async function rowOf(send) {
  const { add } = IDBObjectStore.prototype;
  let row;
  IDBObjectStore.prototype.add = function (value, ...key) {
    row = structuredClone(value);
    return add.call(this, value, ...key);
  };
  try {
    await send();
  } finally {
    IDBObjectStore.prototype.add = add;
  }
  return row;
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
