/** A service worker that records an operation, or finishes what a page left. */

/// <reference lib="webworker" />

import { createSdk, post } from "samekey";

declare const self: ServiceWorkerGlobalScope;

const sdk = createSdk({
  name: "pay",
  owner: "single",
  retention: "24h",
  operations: { transfer: post<{ amount: number }>("/transfers") },
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("message", (event) => {
  const [port] = event.ports;
  const work = async (): Promise<void> => {
    const facts = { window: typeof window, localStorage: typeof localStorage };
    if (event.data === "save") {
      const { id, key, state } = await sdk.operation("transfer", { amount: 8 }, { intent: "from-sw" }).save();
      port?.postMessage({ ...facts, id, key, state });
    } else {
      port?.postMessage({ ...facts, ...(await sdk.resume()) });
    }
  };
  event.waitUntil(work());
});
