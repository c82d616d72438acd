import { v4, v5, v7 } from "uuid";
import { MisuseError } from "../errors.js";
import { decode, encode } from "./body.js";
import type { Random } from "./random.js";
import type { Wire } from "./record.js";

/** Names samekey's own namespace for keys that are derived from intents (RFC 9562 §5.5). */
const NAMESPACE = "5f0e8c5e-4d1b-5b0e-9a64-6b1d6c8f2a37";

// A clock outside these years would put a v7 key where servers refuse it.
const PLAUSIBLE_FROM = Date.UTC(2025, 0, 1);
const PLAUSIBLE_TO = Date.UTC(2100, 0, 1);

/** Mints a UUIDv7, or a v4 where one is asked for or the clock is implausible. Lower case. */
export function mintUuid(version: "v7" | "v4", now: number, random: Random): string {
  const plausible = now >= PLAUSIBLE_FROM && now < PLAUSIBLE_TO;
  return version === "v7" && plausible ? v7({ msecs: now, random: random(16) }) : v4({ random: random(16) });
}

/** The key of an intent: the same on every device and after every loss of the store. */
export function deriveKey(owner: string, name: string, intent: string): string {
  // JSON keeps the three apart whatever characters they hold.
  return v5(JSON.stringify([owner, name, intent]), NAMESPACE);
}

/** The id of the operation that takes another's place: always the same, so that there is only one. */
export function successorIdOf(id: string): string {
  return v5(JSON.stringify(["reissue", id]), NAMESPACE);
}

/** What an unset variable becomes as a header: one key for all that is done. */
const UNSET = /^(undefined|null|NaN)$/;

/**
 * Checks a caller's own key: 1–255 visible ASCII characters, so that no proxy, header parser or database changes it.
 *
 * @throws MisuseError `bad_option`
 */
export function checkKey(key: unknown): string {
  if (typeof key === "string" && UNSET.test(key)) {
    throw new MisuseError("bad_option", { detail: `the key is ${JSON.stringify(key)}, the text of an unset variable` });
  }
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  const shown = typeof key === "string" ? JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key) : typeof key;
  throw new MisuseError("bad_option", { detail: `the key ${shown} is not 1 to 255 visible ASCII characters` });
}

/**
 * The key as it travels: bare, or quoted as a structured-field string (RFC 9651 §3.3.3; draft-ietf-httpapi-idempotency-
 * key-header-07).
 */
export function renderKey(key: string, quoted: boolean): string {
  return quoted ? `"${key.replace(/[\\"]/g, "\\$&")}"` : key;
}

/** The wire with another key in it. */
export function withKey(wire: Wire, key: string): Wire {
  return { ...wire, value: renderKey(key, wire.quoted) };
}

/** The URL as it is sent: with the key in its query, where that is its place. */
export function keyedUrl({ place, name, value }: Wire, url: string): string {
  if (place !== "query") return url;
  const [bare = ""] = url.split("#", 1);
  return `${bare}${bare.includes("?") ? "&" : "?"}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

/**
 * The body as it is sent: with the key as its first member, where that is its place. What was recorded has no key in
 * it, as one may still be minted anew. The rest stays as it was written, so that no number changes.
 */
export function keyedBody({ place, name, value }: Wire, body: ArrayBuffer | undefined): ArrayBuffer | undefined {
  if (place !== "body" || body === undefined) return body;
  const text = decode(body).trimStart().slice(1);
  const comma = text.trimStart().startsWith("}") ? "" : ",";
  return encode(`{${JSON.stringify(name)}:${JSON.stringify(value)}${comma}${text}`);
}
