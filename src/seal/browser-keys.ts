import { promisifyRequest, type UseStore, update } from "idb-keyval";
import { StoreError } from "../errors.js";
import type { KeySource, NamedKey } from "./web-cipher.js";

const TABLE = "keys";
const ENTRY = "all";

/** As it is kept; the first one seals. */
interface KeptKey extends NamedKey {
  /** When it was made, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/**
 * Keys that this browser made for itself and that no program can read out, in a database of their own beside the store's.
 * Whichever tab writes first has made the key; the others take that one.
 *
 * @param rotateEvery - how old the first key may get before a new one takes its place, in milliseconds
 */
export function browserKeys(rotateEvery: number): KeySource {
  return {
    async load({ name, clock }) {
      try {
        return await withTable(`samekey-seal:${name}`, async (use) => {
          const candidate = await newKey(clock.now());
          let keys: readonly KeptKey[] = [];
          const keep = (kept: readonly KeptKey[] = []): KeptKey[] => {
            const isOld = !kept[0] || candidate.at - kept[0].at >= rotateEvery;
            keys = isOld ? [candidate, ...kept] : kept;
            return [...keys];
          };
          // Both in one transaction, and no other tab's in between.
          await update<KeptKey[]>(ENTRY, keep, use);
          return keys;
        });
      } catch (cause) {
        throw new StoreError("unavailable", { detail: "the seal's key could not be read or kept in IndexedDB", cause });
      }
    },
  };
}

async function newKey(at: number): Promise<KeptKey> {
  const usages: KeyUsage[] = ["encrypt", "decrypt"];
  const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, usages);
  return { id: crypto.randomUUID(), key, at };
}

/** Opened for each use: a connection that stays would stand in the way of whoever deletes it. */
async function withTable<T>(database: string, work: (use: UseStore) => Promise<T>): Promise<T> {
  const opening = indexedDB.open(database, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore(TABLE);
  const open = await promisifyRequest(opening);
  try {
    // A key that is lost takes with it what was sealed under it: it is synced before anything is.
    return await work(async (mode, callback) =>
      callback(open.transaction(TABLE, mode, { durability: "strict" }).objectStore(TABLE)),
    );
  } finally {
    open.close();
  }
}
