/** A service worker between a page and its API: it sends what it gets by itself, or looks and lets it pass. */

/// <reference lib="webworker" />

declare const self: ServiceWorkerGlobalScope;

const how = new URL(self.location.href).search.slice(1);

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  if (how === "responds") event.respondWith(fetch(event.request));
});

export {};
