import type { BackgroundSyncSdk, SyncRegistration } from "./types.js";

/**
 * Asks for the service worker when something is left that this page may not live to finish. As long as the page is seen
 * and online it does that itself.
 */
export function askFromPage(sdk: BackgroundSyncSdk, tag: string): () => void {
  const { document, navigator } = globalThis;
  const left = new Set<string>();
  let registration: SyncRegistration | undefined;

  const askIfLeaving = (): void => {
    if (!registration || left.size === 0) return;
    const offline = navigator.onLine === false;
    if (!offline && document?.visibilityState !== "hidden") return;
    registration.sync?.register(tag).catch(() => {});
    // There may be no Background Sync, or none allowed, and a page that goes does not live to hear of it.
    if (!offline) registration.active?.postMessage(tag);
  };
  // Known beforehand: a page that goes has no time to look.
  navigator?.serviceWorker?.ready.then(
    (ready) => {
      registration = ready as unknown as SyncRegistration;
      askIfLeaving();
    },
    () => {},
  );

  const add = ({ id }: { readonly id: string }): void => void left.add(id);
  const remove = ({ id }: { readonly id: string }): void => void left.delete(id);
  const stops = [
    sdk.on("attempt", add),
    ...(["saved", "retry"] as const).map((event) =>
      sdk.on(event, (record) => {
        add(record);
        askIfLeaving();
      }),
    ),
    ...(["settled", "blocked", "unresolved"] as const).map((event) => sdk.on(event, remove)),
  ];
  globalThis.addEventListener?.("offline", askIfLeaving);
  document?.addEventListener("visibilitychange", askIfLeaving);
  return () => {
    for (const stop of stops) stop();
    globalThis.removeEventListener?.("offline", askIfLeaving);
    document?.removeEventListener("visibilitychange", askIfLeaving);
  };
}
