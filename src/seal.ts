import { bad, checkOptions } from "./core/checks.js";
import { type Duration, toMs } from "./core/durations.js";
import { browserKeys } from "./seal/browser-keys.js";
import { type GivenKey, givenKeys, type SealKey } from "./seal/given-keys.js";
import { sealedStore } from "./seal/sealed-store.js";
import { type KeySource, WebCipher } from "./seal/web-cipher.js";
import type { Seal } from "./store.js";

export type { Duration } from "./core/durations.js";
export type { GivenKey, SealKey } from "./seal/given-keys.js";
export type { ResealReport, Seal, Sealing } from "./store.js";

/** Options of {@link webCryptoSeal}. */
export interface WebCryptoSealOptions {
  /**
   * The key that seals.
   *
   * @defaultValue in browsers one that the browser makes, and keeps in IndexedDB where no program can read it out
   */
  readonly key?: SealKey | undefined;
  /** Its id, which is written in the clear in front of what it seals. @defaultValue `"1"` */
  readonly id?: string | undefined;
  /** Keys of before, which open what they have sealed. */
  readonly older?: readonly GivenKey[] | undefined;
  /** How old a key that the browser made may get before it makes another one. @defaultValue it never does */
  readonly rotateEvery?: Duration | undefined;
}

/**
 * Seals request bodies and stored answers with AES-GCM (256 bits) before they reach the store: the `seal` of `createSdk`.
 * Each is bound to its record, so that bytes which were changed or moved do not open. Does no I/O before the store is used.
 *
 * @throws MisuseError `bad_option`, naming the key or option that is wrong
 */
export function webCryptoSeal(options: WebCryptoSealOptions = {}): Seal {
  checkOptions(options, "key id older rotateEvery", "webCryptoSeal");
  const source = sourceOf(options);
  return { over: (store) => sealedStore(store, new WebCipher(source)) };
}

function sourceOf({ key, id, older, rotateEvery }: WebCryptoSealOptions): KeySource {
  if (key !== undefined) {
    if (rotateEvery !== undefined)
      bad("`webCryptoSeal`: `rotateEvery` is for keys that the browser makes; pass a new `key` instead");
    return givenKeys([{ id: id ?? "1", key }, ...(older ?? [])]);
  }
  if (id !== undefined || older !== undefined)
    bad("`webCryptoSeal`: `key` is missing, and `id` and `older` go with it");
  const kept = browserKeys(rotateEvery === undefined ? Number.POSITIVE_INFINITY : toMs(rotateEvery, "rotateEvery"));
  return {
    // Asked only now: a page that is rendered on a server makes an Sdk there too.
    load: async (context) =>
      globalThis.indexedDB
        ? kept.load(context)
        : bad("`webCryptoSeal` has no `key`, and there is no IndexedDB here to keep one in: pass { key }, 32 bytes"),
  };
}
