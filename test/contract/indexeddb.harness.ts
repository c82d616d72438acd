import type { Clock } from "../../src/store.js";
import { indexedDbStore } from "../../src/stores/indexeddb.js";
import type { ContractHarness, SyncLevel } from "../../src/testing/store-contract.js";

/** The real time, in Node and in pages alike. */
export const clock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};

let made = 0;

/** A database of its own for every case, with the durability of its last readwrite transaction. */
export const harness: ContractHarness = {
  async create() {
    made += 1;
    const name = `contract-${made}`;
    const context = { name, clock };
    const stores = new Set<ReturnType<typeof indexedDbStore>>();
    const another = async () => {
      const store = indexedDbStore();
      stores.add(store);
      await store.open(context);
      return store;
    };
    const close = async () => {
      for (const store of stores) await store.close();
      stores.clear();
    };
    let lastSync: SyncLevel | undefined;
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...given: Parameters<typeof begin>) {
      const tx = begin.apply(this, given);
      if (tx.mode === "readwrite") {
        tx.addEventListener("complete", () => {
          lastSync = tx.durability === "strict" ? "strict" : "relaxed";
        });
      }
      return tx;
    };
    return {
      store: await another(),
      async reopen() {
        await close();
        return another();
      },
      second: another,
      lastSync: () => lastSync,
      async destroy() {
        await close();
        IDBDatabase.prototype.transaction = begin;
        await new Promise<void>((resolve, reject) => {
          const request = indexedDB.deleteDatabase(`samekey:${name}`);
          request.onsuccess = () => resolve();
          request.onerror = () => reject(request.error);
        });
      },
    };
  },
};
