import { v5 } from "uuid";
import type { Channel, Holder, Message, Platform } from "../client/platform-port.js";
import { createSdkWith, type Sdk } from "../client/sdk.js";
import type { Operations, SdkOptions } from "../client/types.js";
import { mintUuid } from "../core/key.js";
import type { Random } from "../core/random.js";
import { indexedDbStore } from "../stores/indexeddb.js";
import { commonPlatform } from "./none.js";

const browserPlatform: Platform = {
  ...commonPlatform,
  defaultStore: () => indexedDbStore(),
  defaultBaseUrl: () => (globalThis.location?.origin === "null" ? undefined : globalThis.location?.origin),
  // A browser that says it is offline is believed; one that says it is online may be wrong.
  isOffline: () => globalThis.navigator?.onLine === false,
  onWake,
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

function openChannel(name: string, receive: (message: Message) => void): Channel | undefined {
  if (typeof BroadcastChannel !== "function") return undefined;
  const channel = new BroadcastChannel(`samekey:${name}`);
  channel.onmessage = (event: MessageEvent<Message>) => receive(event.data);
  return { post: (message) => channel.postMessage(message), close: () => channel.close() };
}

const LOCK = "samekey-holder:";

/**
 * A held Web Lock tells the others that this tab lives. Until it is held, and where there are none, the holder has a
 * name that nobody takes for dead: its leases run out in their own time.
 */
function createHolder(random: Random): Holder {
  let name: string | undefined;
  const locks = (): LockManager | undefined => globalThis.navigator?.locks;
  let release = (): void => {};
  let held = false;
  // Not before the first use: making an Sdk touches nothing.
  const hold = (): string => {
    if (name) return name;
    name = mintUuid("v4", 0, random);
    const taken = locks()?.request(LOCK + name, () => {
      held = true;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    taken?.catch(() => {});
    return name;
  };
  return {
    get id() {
      const unique = hold();
      return held ? LOCK + unique : `tab:${unique}`;
    },
    async survey() {
      hold();
      const names = (await locks()?.query())?.held?.map(({ name }) => name);
      if (!names) return () => false;
      const living = new Set(names);
      return (holder) => holder.startsWith(LOCK) && !living.has(holder);
    },
    release: () => release(),
  };
}

/**
 * Makes an Sdk. Does no I/O and touches no global: the store opens at first use.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function createSdk<const Ops extends Operations>(options: SdkOptions<Ops>): Sdk<Ops> {
  return createSdkWith(options, browserPlatform);
}
