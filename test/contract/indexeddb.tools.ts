/** What the tests of the IndexedDB store share, in Node on fake-indexeddb and in real Chromium. */

import { onTestFinished, vi } from "vitest";
import type { IndexedDbStore } from "../../src/stores/indexeddb.js";
import { indexedDbStore } from "../../src/stores/indexeddb.js";
import { clock } from "./indexeddb.harness.js";

let made = 0;

/** A name that no test has used. */
export function freshName(): string {
  made += 1;
  return `case-${made}-${Date.now()}`;
}

/** An open store, closed after the test. */
export async function openStore(name: string = freshName(), time = clock): Promise<IndexedDbStore> {
  const store = indexedDbStore();
  onTestFinished(() => store.close());
  await store.open({ name, clock: time });
  return store;
}

/** Replaces a method of a prototype until the test has finished, or until the answer is called. */
export function replace<T, K extends keyof T>(prototype: T, method: K, by: (original: T[K]) => T[K]): () => void {
  const original = prototype[method];
  prototype[method] = by(original);
  const restore = () => {
    prototype[method] = original;
  };
  onTestFinished(restore);
  return restore;
}

/** Closes the connection of a store as a browser does that tells nobody. */
export async function killConnection(use: () => Promise<unknown>): Promise<void> {
  const restore = replace(IDBDatabase.prototype, "transaction", (begin) => {
    return function (this: IDBDatabase, ...given: Parameters<typeof begin>) {
      const tx = begin.apply(this, given);
      this.close();
      return tx;
    };
  });
  await use();
  restore();
}

export function deleteDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(`samekey:${name}`);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
}

/** Replaces a global until the test has finished. */
export function stubGlobal(name: string, value: unknown): void {
  vi.stubGlobal(name, value);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
}

/** A `localStorage` of the test's own, which Node lacks. */
export function stubLocalStorage(): void {
  const values = new Map<string, string>();
  stubGlobal("localStorage", {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  });
}

/** What was asked of IndexedDB in one transaction. */
export interface Seen {
  readonly mode: IDBTransactionMode;
  readonly durability: IDBTransactionDurability;
  /** `store.method` of every request, in order. */
  readonly requests: string[];
  commits: number;
}

/** Records every transaction from now on; `meddle` gets each as it begins. */
export function watch(meddle: (tx: IDBTransaction, nth: number) => void = () => {}): Seen[] {
  const seen: Seen[] = [];
  const of = new WeakMap<IDBTransaction, Seen>();
  replace(IDBDatabase.prototype, "transaction", (begin) => {
    return function (this: IDBDatabase, ...given: Parameters<typeof begin>) {
      const tx = begin.apply(this, given);
      const entry: Seen = { mode: tx.mode, durability: tx.durability, requests: [], commits: 0 };
      of.set(tx, entry);
      seen.push(entry);
      meddle(tx, seen.length);
      return tx;
    };
  });
  replace(IDBTransaction.prototype, "commit", (commit) => {
    return function (this: IDBTransaction) {
      const entry = of.get(this);
      if (entry) entry.commits += 1;
      return commit.call(this);
    };
  });
  for (const method of ["add", "put", "get", "getAll", "clear", "delete", "openCursor"] as const) {
    replace(IDBObjectStore.prototype, method, (original) => {
      return function (this: IDBObjectStore, ...given: never[]) {
        of.get(this.transaction)?.requests.push(`${this.name}.${method}`);
        return (original as (...all: never[]) => never).apply(this, given);
      } as never;
    });
  }
  return seen;
}

/** Opens a database past the store, as another tab would. */
export function openRaw(name: string, version?: number, upgrade?: (db: IDBDatabase) => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(`samekey:${name}`, version);
    request.onupgradeneeded = () => upgrade?.(request.result);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** The next task, sooner than a timer allows. */
export function nextTask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** Time that stands still but for deadlines, which pass at once. */
export const impatient = {
  now: () => Date.now(),
  sleep: (_ms: number, signal?: AbortSignal) => clock.sleep(20, signal),
};
