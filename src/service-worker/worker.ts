import { toMs } from "../core/durations.js";
import { PendingError } from "../errors.js";
import type { BackgroundSyncOptions, BackgroundSyncSdk, WakeEvent, WorkerScope } from "./types.js";

/** Listens for what wakes a service worker, and finishes what is left. */
export function finishInWorker(sdk: BackgroundSyncSdk, tag: string, options: BackgroundSyncOptions): () => void {
  const scope = globalThis as unknown as WorkerScope;
  const { sync } = scope.registration;
  const wait = toMs(options.wait ?? "2m", "wait");

  /** @throws PendingError while something is left, so that the browser tries again */
  const finish = async (isLastChance: boolean): Promise<void> => {
    await options.prepare?.();
    const { remaining, blocked, ...settled } = await sdk.resume({ wait });
    if (remaining === 0) return;
    // Asked for anew, it comes at once: only where that leads somewhere.
    if (isLastChance && Object.values(settled).some((count) => count > 0)) await sync?.register(tag);
    throw new PendingError("pending", { detail: `${remaining} left; the browser is to try again` });
  };

  /** Whether the browser is going to wake the worker. */
  const isAsked = async (): Promise<boolean> => {
    try {
      // One that is being served must not be asked for again: it would come again at once, and for ever.
      if (sync && !(await sync.getTags()).includes(tag)) await sync.register(tag);
      return sync !== undefined;
    } catch {
      return false;
    }
  };

  /** Has what was left, by a page that crashed for instance, finished before long. */
  const look = async (): Promise<void> => {
    await options.prepare?.();
    const { pending = 0 } = await sdk.counts();
    if (pending > 0 && !(await isAsked())) await finish(false);
  };
  const quietly = (work: Promise<void>): Promise<void> => work.catch(() => {});

  const onSync = (event: WakeEvent): void => {
    if (event.tag === tag) event.waitUntil(finish(event.lastChance === true));
  };
  const onMessage = (event: WakeEvent): void => {
    if (event.data === tag) event.waitUntil(quietly(finish(false)));
  };
  // Not waited for: pages could not load before it is over.
  const onWake = (): void => void quietly(look());

  const listeners = { sync: onSync, periodicsync: onSync, message: onMessage, activate: onWake, online: onWake };
  for (const [type, listener] of Object.entries(listeners)) scope.addEventListener(type, listener);
  if (scope.serviceWorker?.state === "activated") onWake();
  return () => {
    for (const [type, listener] of Object.entries(listeners)) scope.removeEventListener(type, listener);
  };
}
