/** The contract as it is published, so that clients need not be told by hand. */
import type { HeaderPair } from "./answer.js";

/** Where the contract is served. */
export const contractPath = "/.well-known/idempotency";

/** What a client needs to know to retry safely, as `GET /.well-known/idempotency` gives it. */
export interface Contract {
  /** The request header that carries the key. */
  readonly header: "Idempotency-Key";
  readonly key: {
    readonly minLength: number;
    readonly maxLength: number;
    readonly charset: "visible-ascii";
    /** A key in quotes is the key inside them. */
    readonly quoted: "accepted";
    readonly recommended: "uuidv7";
  };
  /** For how long a key is honoured, counted from its first use, in whole seconds. */
  readonly retention: number;
  /** The status that answers a request whose key is missing, invalid, too far in the future, and so on. */
  readonly statuses: {
    readonly missing: 400;
    readonly invalid: 400;
    readonly time: 400;
    readonly in_progress: 409;
    readonly expired: 410;
    readonly reused: 422;
  };
  /** The response headers that stand on stored answers, and on no other. */
  readonly marks: { readonly status: "idempotency-status"; readonly replayed: "idempotency-replayed" };
}

/** @param retention - ms. */
export function contractOf(retention: number): Contract {
  return {
    header: "Idempotency-Key",
    key: { minLength: 1, maxLength: 255, charset: "visible-ascii", quoted: "accepted", recommended: "uuidv7" },
    // Rounded down: a client may hold a key for a shorter time than it is honoured, never for a longer one.
    retention: Math.floor(retention / 1000),
    statuses: { missing: 400, invalid: 400, time: 400, in_progress: 409, expired: 410, reused: 422 },
    marks: { status: "idempotency-status", replayed: "idempotency-replayed" },
  };
}

/** The response that publishes it. A retention that is lowered reaches clients within minutes. */
export function contractAnswer(contract: Contract): { headers: readonly HeaderPair[]; body: string } {
  return {
    headers: [
      ["content-type", "application/json"],
      ["cache-control", "public, max-age=300"],
    ],
    body: JSON.stringify(contract),
  };
}
