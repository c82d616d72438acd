/** What of a record is sealed, and for which place: its request's body, its answer, and the hash that outlives the body. */

import {
  keyOfSealedHash,
  type OperationRecord,
  SEALED_HASH,
  type Sealed,
  type StoredRequest,
  type StoredResponse,
} from "../core/record.js";
import type { Cipher, Closed } from "./cipher.js";

/** Whoever can write to the store cannot have a body sent to another address, or as another method. */
const placeOfBody = (id: string, { method, url }: StoredRequest): readonly unknown[] => [id, "request", method, url];
const placeOfAnswer = (id: string, { status }: StoredResponse): readonly unknown[] => [id, "response", status];
const placeOfHash = (id: string): readonly unknown[] => [id, "hash"];

/** The request with its body sealed; as it is where it has none. */
export async function sealRequest(cipher: Cipher, id: string, request: StoredRequest): Promise<StoredRequest> {
  if (request.body === undefined) return request;
  const { key, bytes } = await cipher.seal(request.body, placeOfBody(id, request));
  return { ...request, body: bytes, sealed: { key } };
}

/** The request with its body open; marked with the reason where it stays closed. */
export async function openRequest(cipher: Cipher, id: string, request: StoredRequest): Promise<StoredRequest> {
  if (!request.sealed || !request.body) return request;
  const plain = await cipher.open(request.body, placeOfBody(id, request));
  if (isClosed(plain)) return { ...request, sealed: closed(request.sealed, plain) };
  return { ...request, body: plain, sealed: undefined };
}

/** The answer with headers and body sealed as one: a line of JSON, then the body. */
export async function sealResponse(cipher: Cipher, id: string, response: StoredResponse): Promise<StoredResponse> {
  const { headers, body } = response;
  const line = new TextEncoder().encode(`${JSON.stringify({ headers, body: body !== undefined })}\n`);
  const plain = new Uint8Array(line.length + (body?.byteLength ?? 0));
  plain.set(line);
  if (body) plain.set(new Uint8Array(body), line.length);
  const { key, bytes } = await cipher.seal(plain, placeOfAnswer(id, response));
  return { ...response, headers: {}, body: bytes, sealed: { key } };
}

/** The answer open; marked with the reason where it stays closed. */
export async function openResponse(cipher: Cipher, id: string, response: StoredResponse): Promise<StoredResponse> {
  if (!response.sealed || !response.body) return response;
  const plain = await cipher.open(response.body, placeOfAnswer(id, response));
  if (isClosed(plain)) return { ...response, sealed: closed(response.sealed, plain) };
  const end = new Uint8Array(plain).indexOf(10);
  const { headers, body } = JSON.parse(new TextDecoder().decode(plain.slice(0, end))) as {
    readonly headers: StoredResponse["headers"];
    readonly body: boolean;
  };
  return { ...response, headers, body: body ? plain.slice(end + 1) : undefined, sealed: undefined };
}

/** All of a record that is to be sealed, none of it sealed yet. */
export async function sealParts(
  cipher: Cipher,
  { id, request, response, hash }: Pick<OperationRecord, "id" | "request" | "response" | "hash">,
): Promise<Pick<OperationRecord, "request" | "response" | "hash">> {
  return {
    request: await sealRequest(cipher, id, request),
    response: response && !response.pruned ? await sealResponse(cipher, id, response) : response,
    hash: hash === undefined ? undefined : await sealHash(cipher, id, hash),
  };
}

/** The hash sealed: in the clear it would give away a body that can be guessed. */
export async function sealHash(cipher: Cipher, id: string, hash: string): Promise<string> {
  const { key, bytes } = await cipher.seal(new TextEncoder().encode(hash), placeOfHash(id));
  return `${SEALED_HASH}${key}:${btoa(String.fromCharCode(...new Uint8Array(bytes)))}`;
}

/** The hash open, or as it is. */
export async function openHash(cipher: Cipher, id: string, hash: string | undefined): Promise<string | undefined> {
  if (hash === undefined || keyOfSealedHash(hash) === undefined) return hash;
  try {
    const packed = Uint8Array.from(atob(hash.slice(hash.lastIndexOf(":") + 1)), (char) => char.charCodeAt(0));
    const plain = await cipher.open(packed.buffer, placeOfHash(id));
    return isClosed(plain) ? hash : new TextDecoder().decode(plain);
  } catch {
    // No base64 any more.
    return hash;
  }
}

function isClosed(opened: ArrayBuffer | Closed): opened is Closed {
  return typeof opened === "string";
}

const reasons: Readonly<Record<Closed, string>> = {
  no_key: "which `seal` does not have here",
  damaged: "which does not open it: the bytes were changed, or it is another key of that id",
};

function closed({ key }: Sealed, why: Closed): Sealed {
  return { key, why: reasons[why] };
}
