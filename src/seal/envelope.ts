/** How sealed bytes are laid out: version (1 byte), length of the key's id (1 byte), the id, nonce, ciphertext and tag. */

/** The layout that is written. Another one gets another number; this one stays readable. */
const VERSION = 1;

/** The length of AES-GCM's nonce, in bytes. */
export const NONCE = 12;

/** What stands in front of a ciphertext. */
export interface Head {
  readonly key: string;
  readonly nonce: Uint8Array<ArrayBuffer>;
}

/** Sealed bytes as they are stored. */
export function pack({ key, nonce }: Head, ciphertext: ArrayBuffer): ArrayBuffer {
  const id = new TextEncoder().encode(key);
  const bytes = new Uint8Array(2 + id.length + NONCE + ciphertext.byteLength);
  bytes.set([VERSION, id.length]);
  bytes.set(id, 2);
  bytes.set(nonce, 2 + id.length);
  bytes.set(new Uint8Array(ciphertext), 2 + id.length + NONCE);
  return bytes.buffer;
}

/** What was packed; `undefined` where it was not. */
export function unpack(packed: ArrayBuffer): (Head & { readonly ciphertext: Uint8Array<ArrayBuffer> }) | undefined {
  const bytes = new Uint8Array(packed);
  const [version, length = 0] = bytes;
  const start = 2 + length + NONCE;
  if (version !== VERSION || bytes.length < start) return undefined;
  const key = new TextDecoder().decode(bytes.subarray(2, 2 + length));
  return { key, nonce: bytes.subarray(2 + length, start), ciphertext: bytes.subarray(start) };
}
