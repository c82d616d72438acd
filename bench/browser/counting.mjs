/** Counts what is asked of IndexedDB, until the function that it answers with is called. */
export function counting() {
  const counts = { strict: 0, relaxed: 0, adds: 0, others: 0 };
  const restore = [];

  function wrap(type, names, count) {
    for (const name of names) {
      const original = type.prototype[name];
      type.prototype[name] = function (...values) {
        count(name, values);
        return original.apply(this, values);
      };
      restore.push(() => {
        type.prototype[name] = original;
      });
    }
  }

  wrap(IDBDatabase, ["transaction"], (_, [, mode, options]) => {
    if (mode === "readwrite") counts[options?.durability === "strict" ? "strict" : "relaxed"]++;
  });
  const reads = ["get", "getKey", "getAll", "getAllKeys", "count", "openCursor", "openKeyCursor"];
  wrap(IDBObjectStore, [...reads, "add", "put", "delete", "clear"], (name) => {
    counts[name === "add" ? "adds" : "others"]++;
  });
  wrap(IDBIndex, reads, () => counts.others++);
  return () => {
    for (const undo of restore) undo();
    return counts;
  };
}
