/** A seal for virtual time: the same sealing, by a cipher that takes no turn of the event loop. */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Cipher, Closed, SealedBytes } from "../../src/seal/cipher.js";
import { NONCE, pack, unpack } from "../../src/seal/envelope.js";
import { sealedStore } from "../../src/seal/sealed-store.js";
import type { Seal } from "../../src/store.js";

const TAG = 16;

class InstantCipher implements Cipher {
  readonly #keys: ReadonlyMap<string, Uint8Array>;

  constructor(keys: ReadonlyMap<string, Uint8Array>) {
    this.#keys = keys;
  }

  get current(): string {
    return [...this.#keys.keys()][0] ?? "";
  }

  async load(): Promise<void> {}

  async seal(plain: BufferSource, bound: readonly unknown[]): Promise<SealedBytes> {
    const key = this.current;
    const nonce = new Uint8Array(randomBytes(NONCE));
    const cipher = createCipheriv("aes-256-gcm", this.#keys.get(key) as Uint8Array, nonce);
    cipher.setAAD(aad(key, bound));
    const bytes = ArrayBuffer.isView(plain) ? Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength) : plain;
    const sealed = Buffer.concat([
      cipher.update(Buffer.from(bytes as ArrayBuffer)),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return { key, bytes: pack({ key, nonce }, new Uint8Array(sealed).buffer) };
  }

  async open(bytes: ArrayBuffer, bound: readonly unknown[]): Promise<ArrayBuffer | Closed> {
    const packed = unpack(bytes);
    if (!packed) return "damaged";
    const key = this.#keys.get(packed.key);
    if (!key) return "no_key";
    const { nonce, ciphertext } = packed;
    const decipher = createDecipheriv("aes-256-gcm", key, nonce);
    decipher.setAAD(aad(packed.key, bound));
    decipher.setAuthTag(ciphertext.subarray(-TAG));
    try {
      const plain = Buffer.concat([decipher.update(ciphertext.subarray(0, -TAG)), decipher.final()]);
      return new Uint8Array(plain).buffer;
    } catch {
      return "damaged";
    }
  }
}

const aad = (key: string, bound: readonly unknown[]): Buffer =>
  Buffer.from(JSON.stringify(["samekey", 1, key, ...bound]));

/** Keys by their ids; the first one seals. */
export function instantSeal(keys: Record<string, Uint8Array> = { k1: new Uint8Array(32).fill(1) }): Seal {
  return { over: (store) => sealedStore(store, new InstantCipher(new Map(Object.entries(keys)))) };
}
