/** A shop's service worker, which finishes what its pages left. Who is signed in stands where a worker can read it. */

/// <reference lib="webworker" />

import { get } from "idb-keyval";
import { createSdk, post } from "samekey";
import { backgroundSync } from "samekey/service-worker";
import type { Receipt, Session, Transfer } from "./app.js";
import { recordSync } from "./record-sync.js";

declare const self: ServiceWorkerGlobalScope;

let session: Session | undefined;

const sdk = createSdk({
  name: "pay",
  retention: "24h",
  owner: () => session?.user,
  headers: () => (session?.token ? { authorization: `Bearer ${session.token}` } : null),
  retry: { base: 20, cap: 200 },
  operations: { transfer: post<Transfer, Receipt>("/transfers") },
});

/** What came of each event, in the order in which they ended. */
const events: string[] = [];
const { waitUntil } = ExtendableEvent.prototype;
ExtendableEvent.prototype.waitUntil = function (work) {
  const told = Promise.resolve(work).then(
    () => events.push(`${this.type}: done`),
    ({ code, message }) => events.push(`${this.type}: ${code ?? message}`),
  );
  waitUntil.call(this, work);
  waitUntil.call(this, told);
};

const asked = recordSync();

backgroundSync(sdk, {
  wait: "5s",
  prepare: async () => {
    session = await get("session");
    await shop.held;
  },
});

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", () => self.clients.claim());

/** Who signed out, as the worker heard it. */
const signedOut: unknown[] = [];
sdk.on("ownerchange", ({ owner, previous }) => {
  if (owner === undefined) signedOut.push(previous);
});

const page = {
  sdk,
  events,
  asked,
  signedOut,
  /** As long as this is pending, nobody knows yet who is signed in. */
  held: undefined as Promise<void> | undefined,
  letGo: () => {},
};

declare global {
  var shop: typeof page;
}

globalThis.shop = page;
