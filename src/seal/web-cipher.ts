import { MisuseError } from "../errors.js";
import type { StoreContext } from "../store.js";
import type { Cipher, Closed, SealedBytes } from "./cipher.js";
import { NONCE, pack, unpack } from "./envelope.js";

/** A key that seals or opens, and the id by which it is known. */
export interface NamedKey {
  readonly id: string;
  readonly key: CryptoKey;
}

/** Where keys come from. */
export interface KeySource {
  /** All there are for an sdk; the first one seals. */
  load(context: StoreContext): Promise<readonly NamedKey[]>;
}

/** AES-GCM by WebCrypto, with a nonce of its own for each use. */
export class WebCipher implements Cipher {
  readonly #source: KeySource;
  #context: StoreContext | undefined;
  #keys: readonly NamedKey[] = [];
  #looking: Promise<unknown> | undefined;

  constructor(source: KeySource) {
    this.#source = source;
  }

  get current(): string {
    return this.#first().id;
  }

  async load(context: StoreContext): Promise<void> {
    if (!globalThis.crypto?.subtle) {
      throw new MisuseError("bad_option", {
        detail:
          "`seal` needs `crypto.subtle`, which browsers give only to pages over https and from localhost: serve the page over https, or leave `seal` out",
      });
    }
    this.#keys = await this.#source.load(context);
    this.#context = context;
  }

  async seal(plain: BufferSource, bound: readonly unknown[]): Promise<SealedBytes> {
    const { id, key } = this.#first();
    // Never by the program's own `random`: a nonce that comes twice under one key gives it away.
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE));
    const ciphertext = await crypto.subtle.encrypt(parameters(nonce, id, bound), key, plain);
    return { key: id, bytes: pack({ key: id, nonce }, ciphertext) };
  }

  async open(bytes: ArrayBuffer, bound: readonly unknown[]): Promise<ArrayBuffer | Closed> {
    const packed = unpack(bytes);
    if (!packed) return "damaged";
    if (!this.#keyOf(packed.key)) await this.#lookAgain();
    const key = this.#keyOf(packed.key);
    if (!key) return "no_key";
    try {
      return await crypto.subtle.decrypt(parameters(packed.nonce, packed.key, bound), key, packed.ciphertext);
    } catch {
      return "damaged";
    }
  }

  #first(): NamedKey {
    const [first] = this.#keys;
    if (!first) throw new Error("samekey: the seal has not been opened");
    return first;
  }

  #keyOf(id: string): CryptoKey | undefined {
    return this.#keys.find((known) => known.id === id)?.key;
  }

  /** Another tab may have made a new one. A source that does not answer now may do so the next time. */
  async #lookAgain(): Promise<void> {
    const look = async (context: StoreContext): Promise<void> => {
      const keys = await this.#source.load(context).catch(() => []);
      // What seals goes on sealing: what was begun under it may not be finished yet.
      this.#keys = [...this.#keys, ...keys.filter(({ id }) => !this.#keyOf(id))];
      this.#looking = undefined;
    };
    if (this.#context) this.#looking ??= look(this.#context);
    await this.#looking;
  }
}

/** What is bound to the ciphertext is not in it: moved to another place, or under another key's id, it does not open. */
function parameters(iv: Uint8Array<ArrayBuffer>, id: string, bound: readonly unknown[]): AesGcmParams {
  return {
    name: "AES-GCM",
    iv,
    additionalData: new TextEncoder().encode(JSON.stringify(["samekey", 1, id, ...bound])),
  };
}
