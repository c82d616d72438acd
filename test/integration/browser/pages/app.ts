/** What a page of the test site has at hand, as `app`. */

import { del, set } from "idb-keyval";
import { createSdk, post, type SdkOptions } from "samekey";
import { webCryptoSeal } from "samekey/seal";
import { backgroundSync } from "samekey/service-worker";
import { indexedDbStore } from "samekey/stores/indexeddb";
import { recordSync } from "./record-sync.js";

export interface Transfer {
  readonly amount: number;
}

export interface Receipt {
  readonly id: string;
}

/** Who is signed in, as a service worker reads it; without a token the session is over. */
export interface Session {
  readonly user: string;
  readonly token?: string;
}

const operations = { transfer: post<Transfer, Receipt>("/transfers") };

/** The Sdk of a shop's page: signed in is who `localStorage` says, and only the attempt knows the token. */
function open(options: Partial<SdkOptions> = {}) {
  const sdk = createSdk({
    name: "pay",
    retention: "24h",
    owner: () => localStorage.getItem("user") ?? undefined,
    headers: ({ owner }) => ({ authorization: `Bearer token-of-${owner}` }),
    retry: { base: 20, cap: 200 },
    ...options,
    operations,
  });
  page.sdk = sdk;
  return sdk;
}

/** Everything that stands in any database of this origin. */
async function dump(): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const { name = "" } of await indexedDB.databases()) {
    const database = await result(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const rows = database.transaction(store).objectStore(store);
      found.push(...(await result(rows.getAll())), ...(await result(rows.getAllKeys())));
    }
    database.close();
  }
  return found;
}

/** Loses all databases, as a browser does that needs the room. */
async function evict(): Promise<void> {
  for (const { name = "" } of await indexedDB.databases()) await result(indexedDB.deleteDatabase(name));
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Signs in, where the page and the service worker look. */
async function signIn(session: Session | undefined): Promise<void> {
  if (session) localStorage.setItem("user", session.user);
  else localStorage.removeItem("user");
  await (session ? set("session", session) : del("session"));
}

const page = {
  createSdk,
  post,
  indexedDbStore,
  webCryptoSeal,
  open,
  backgroundSync,
  recordSync,
  signIn,
  dump,
  evict,
  /** The Sdk that `open` made last. */
  sdk: undefined as unknown as ReturnType<typeof open>,
  /** Where a test keeps something between two visits to the page. */
  kept: {} as Record<string, unknown>,
};

declare global {
  var app: typeof page;
}

globalThis.app = page;
