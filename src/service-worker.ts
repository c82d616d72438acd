/** Finishes operations after the page is gone. */

import { askFromPage } from "./service-worker/page.js";
import type { BackgroundSyncOptions, BackgroundSyncSdk } from "./service-worker/types.js";
import { finishInWorker } from "./service-worker/worker.js";

export type { BackgroundSyncOptions, BackgroundSyncSdk } from "./service-worker/types.js";

/**
 * Has the browser's Background Sync finish what a page left. To be called in both places, with an Sdk of the same `name`:
 * in the service worker while its script is first run, where it listens, and in the page, where it asks to be woken when
 * something is left while the page is hidden or the browser offline. Elsewhere (server rendering) it does nothing.
 *
 * Without Background Sync the worker finishes what it can whenever it is awake; see `docs/service-worker.md`.
 *
 * @returns the way to stop
 * @throws MisuseError `bad_option`
 */
export function backgroundSync(sdk: BackgroundSyncSdk, options: BackgroundSyncOptions = {}): () => void {
  const tag = `samekey:${sdk.name}`;
  // Only a service worker knows its own kind.
  if ("ServiceWorkerGlobalScope" in globalThis) return finishInWorker(sdk, tag, options);
  return askFromPage(sdk, tag);
}
