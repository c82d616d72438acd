import { bad } from "../core/checks.js";
import type { KeySource, NamedKey } from "./web-cipher.js";

/** Of AES-256, in bytes. */
const LENGTH = 32;

/** 32 bytes, an AES-GCM `CryptoKey` of 256 bits that encrypts and decrypts, or a function that fetches either. */
export type SealKey =
  | BufferSource
  | CryptoKey
  | (() => BufferSource | CryptoKey | PromiseLike<BufferSource | CryptoKey>);

/** A key, and the id that is written in front of what it seals. */
export interface GivenKey {
  readonly id: string;
  readonly key: SealKey;
}

/**
 * Keys that the program passes; the first one seals.
 *
 * @throws MisuseError `bad_option`, naming the key
 */
export function givenKeys(given: readonly GivenKey[]): KeySource {
  const ids = new Set<string>();
  const keys = given.map(({ id, key }) => {
    if (typeof id !== "string" || !/^[\w.-]{1,64}$/.test(id)) {
      bad(
        `\`webCryptoSeal\`: the id ${JSON.stringify(id)} of a key is not 1 to 64 of letters, digits, \`.\`, \`_\` and \`-\``,
      );
    }
    if (ids.has(id)) bad(`\`webCryptoSeal\`: there are two keys of the id ${id}`);
    ids.add(id);
    return { id, key: typeof key === "function" ? key : checked(id, key) };
  });
  let loading: Promise<readonly NamedKey[]> | undefined;
  const load = async ({ id, key }: GivenKey): Promise<NamedKey> => ({
    id,
    key: await imported(typeof key === "function" ? checked(id, await key()) : key),
  });
  return {
    load: () => {
      // What fails is not kept: the next use asks anew.
      loading ??= Promise.all(keys.map(load)).catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return loading;
    },
  };
}

async function imported(key: BufferSource | CryptoKey): Promise<CryptoKey> {
  return isBytes(key) ? crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]) : key;
}

/** The caller may overwrite his bytes, so they are copied. */
function checked(id: string, key: BufferSource | CryptoKey): BufferSource | CryptoKey {
  if (isBytes(key)) {
    if (key.byteLength !== LENGTH) bad(`\`webCryptoSeal\`: key ${id} has ${key.byteLength} bytes, expected ${LENGTH}`);
    return ArrayBuffer.isView(key) ? new Uint8Array(key.buffer, key.byteOffset, LENGTH).slice() : key.slice(0);
  }
  const { name, length } = (key?.algorithm ?? {}) as Partial<AesKeyAlgorithm>;
  const isFit = name === "AES-GCM" && length === 256;
  if (isFit && key.usages.includes("encrypt") && key.usages.includes("decrypt")) return key;
  return bad(
    `\`webCryptoSeal\`: key ${id} is neither ${LENGTH} bytes nor an AES-GCM key of 256 bits that encrypts and decrypts`,
  );
}

function isBytes(key: BufferSource | CryptoKey): key is BufferSource {
  return ArrayBuffer.isView(key) || Object.prototype.toString.call(key) === "[object ArrayBuffer]";
}
