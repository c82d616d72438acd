import { v5 } from "uuid";
import type { Channel, Holder, Message, Platform } from "../client/platform-port.js";
import { createSdkWith } from "../client/sdk.js";
import type { Sdk } from "../client/sdk-interface.js";
import type { Operations, SdkOptions } from "../client/types.js";
import { type WrapFetchOptions, type WrappedFetch, wrapFetchWith } from "../client/wrap-fetch.js";
import { mintUuid } from "../core/key.js";
import type { Random } from "../core/random.js";
import { indexedDbStore } from "../stores/indexeddb.js";
import { commonPlatform } from "./none.js";

const browserPlatform: Platform = {
  ...commonPlatform,
  defaultStore: () => indexedDbStore(),
  defaultBaseUrl() {
    const origin = globalThis.location?.origin;
    return origin === "null" ? undefined : origin;
  },
  // A browser that says it is offline is believed; one that says it is online may be wrong.
  isOffline: () => globalThis.navigator?.onLine === false,
  onWake,
  onIdle,
  explainSilence,
  openChannel,
  createHolder,
  // crypto.subtle is absent on plain http; an origin never changes between the two.
  digest: async (bytes) =>
    globalThis.crypto?.subtle ? commonPlatform.digest(bytes) : `v5:${v5(bytes as never, v5.URL)}`,
};

function onWake(wake: () => void): () => void {
  const visible = (): void => {
    if (globalThis.document?.visibilityState !== "hidden") wake();
  };
  globalThis.addEventListener?.("online", wake);
  globalThis.addEventListener?.("offline", wake);
  globalThis.document?.addEventListener("visibilitychange", visible);
  return () => {
    globalThis.removeEventListener?.("online", wake);
    globalThis.removeEventListener?.("offline", wake);
    globalThis.document?.removeEventListener("visibilitychange", visible);
  };
}

/** Not in workers, nor in Safari. */
function onIdle(idle: () => void): (() => void) | undefined {
  if (typeof globalThis.requestIdleCallback !== "function") return undefined;
  const asked = requestIdleCallback(idle);
  return () => cancelIdleCallback(asked);
}

/** A request that needs no preflight gets through where one with the key's header does not: that is CORS. */
async function explainSilence(
  origin: string,
  header: string,
  fetch: typeof globalThis.fetch,
): Promise<string | undefined> {
  if (origin === globalThis.location?.origin) return undefined;
  try {
    await fetch(origin, { method: "HEAD", mode: "no-cors", credentials: "omit", cache: "no-store" });
  } catch {
    return undefined;
  }
  const here = globalThis.location?.origin;
  return `${origin} can be reached, but answers no request that carries ${header}: probably its CORS does not allow that header, the method or the origin ${here}`;
}

function openChannel(name: string, receive: (message: Message) => void): Channel | undefined {
  if (typeof BroadcastChannel !== "function") return undefined;
  const channel = new BroadcastChannel(`samekey:${name}`);
  channel.onmessage = (event: MessageEvent<Message>) => receive(event.data);
  // To post takes a browser longer than all else between a record and its `fetch`, and nobody waits for it: the next task does.
  const news: Message[] = [];
  const later = new MessageChannel();
  const tell = (): void => {
    for (const message of news.splice(0)) channel.postMessage(message);
  };
  later.port1.onmessage = tell;
  return {
    post(message) {
      if (news.push(message) === 1) later.port2.postMessage(0);
      // A page that signs its user out may be left at once.
      if (message.type === "signout") tell();
    },
    close() {
      tell();
      later.port1.close();
      channel.close();
    },
  };
}

const LOCK = "samekey-holder:";

/**
 * A Web Lock, held for as long as this tab lives, tells the others that it does. Where there are none (plain http), the
 * holder has a name that nobody takes for dead: its leases run out in their own time.
 */
function createHolder(random: Random): Holder {
  const released = new AbortController();
  const watched = new Set<string>();
  const locks = (): LockManager | undefined => globalThis.navigator?.locks;
  let id: string | undefined;

  // Not before the first use: making an Sdk touches nothing.
  const hold = (): string => {
    if (id !== undefined) return id;
    const unique = mintUuid("v4", 0, random);
    const name = LOCK + unique;
    id = locks() ? name : `tab:${unique}`;
    // Asked for before any lease can be written, and so there for all who see one.
    const taken = locks()?.request(name, () => whenAborted(released.signal));
    taken?.catch(() => {
      id = `tab:${unique}`;
    });
    return id;
  };

  return {
    get id() {
      return hold();
    },
    async survey() {
      // Refused: then nobody is known to be dead.
      const asked = await locks()
        ?.query()
        .catch(() => undefined);
      if (!asked) return () => false;
      // Whoever still waits for his lock lives too; shared are the requests of those who watch.
      const living = [...(asked.held ?? []), ...(asked.pending ?? [])].filter(({ mode }) => mode === "exclusive");
      const names = new Set(living.map(({ name }) => name));
      return (holder) => holder.startsWith(LOCK) && !names.has(holder);
    },
    watch(holder, gone) {
      if (!holder.startsWith(LOCK) || holder === id || watched.has(holder) || released.signal.aborted) return;
      watched.add(holder);
      // Granted once the one who holds it alone is gone.
      const granted = locks()?.request(holder, { mode: "shared", signal: released.signal }, () => {});
      granted
        ?.then(gone)
        .catch(() => {})
        .finally(() => watched.delete(holder));
    },
    release: () => released.abort(),
  };
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}

/**
 * Makes an Sdk. Does no I/O and touches no global: the store opens at first use.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function createSdk<const Ops extends Operations>(options: SdkOptions<Ops>): Sdk<Ops> {
  return createSdkWith(options, browserPlatform);
}

/**
 * Wraps a `fetch`: the writes that it covers are recorded, keyed, retried and resumable, everything else passes through
 * untouched. Does no I/O until it is called.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function wrapFetch(fetch: typeof globalThis.fetch, options: WrapFetchOptions): WrappedFetch {
  return wrapFetchWith(fetch, options, browserPlatform);
}
