import { toMs } from "../core/durations.js";
import { PendingError } from "../errors.js";
import type { BackgroundSyncOptions, BackgroundSyncSdk, WakeEvent, WorkerScope } from "./types.js";

/** So often `prepare` is asked anew because someone signed out meanwhile; then the browser is to try again. */
const TRIES = 3;

/** Listens for what wakes a service worker, and finishes what is left. */
export function finishInWorker(sdk: BackgroundSyncSdk, tag: string, options: BackgroundSyncOptions): () => void {
  const scope = globalThis as unknown as WorkerScope;
  const { sync } = scope.registration;
  const wait = toMs(options.wait ?? "2m", "wait");

  /** Goes on once it is known who is signed in, in the same step: nobody can sign out in between. */
  const prepared = async <T>(goOn: () => Promise<T>): Promise<T> => {
    if (!options.prepare) return goOn();
    // Opens the store, and with it the channel: a sign-out is heard from before `prepare` looks.
    await sdk.counts({ owner: "*" });
    let isStale = false;
    const stop = sdk.on("ownerchange", () => {
      isStale = true;
    });
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        isStale = false;
        await options.prepare();
        if (!isStale) return goOn();
      }
    } finally {
      stop();
    }
    throw new PendingError("pending", { detail: "it is not certain who is signed in; the browser is to try again" });
  };

  /** @throws PendingError while something is left, so that the browser tries again */
  const finish = async (isLastChance: boolean): Promise<void> => {
    const { remaining, blocked, ...settled } = await prepared(() => sdk.resume({ wait }));
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
    const { pending = 0 } = await prepared(() => sdk.counts());
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
