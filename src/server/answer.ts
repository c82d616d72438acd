/** Answers: what a handler gives, what is stored, and what goes out. */

import { MisuseError } from "../errors.js";

/** What becomes of the handler's work. */
export type Disposition = "completed" | "refused" | "released";

/** What a handler returns: a response, as plain data. */
export interface Answer {
  /** 200–599. */
  readonly status: number;
  readonly headers?: HeaderInput | undefined;
  readonly body?: Uint8Array | string | null | undefined;
  /**
   * `completed`: effects and answer are stored. `refused`: effects are rolled back, the answer is stored. `released`:
   * everything is rolled back and nothing is stored; the next request under the key runs again.
   *
   * @defaultValue by status: 5xx, 401, 407, 408, 423, 425 and 429 are released, any other 4xx is refused, the rest completed
   */
  readonly disposition?: Disposition | undefined;
}

/** Headers as a plain object, or as pairs where a name comes more than once. */
export type HeaderInput =
  | Readonly<Record<string, string | number | readonly string[] | undefined>>
  | Iterable<HeaderPair>;

/** One header line; names are lower case. */
export type HeaderPair = readonly [name: string, value: string];

/** Why {@link Outcome} is what it is. */
export type OutcomeKind =
  | "executed"
  | "replayed"
  | "released"
  | "unprotected"
  | "in_progress"
  | "mismatched"
  | "expired"
  | "invalid"
  | "unavailable";

/** What is to be sent. */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
  /** What failed, where that is why; for logs, never for the client. */
  readonly cause?: unknown;
}

const temporary: ReadonlySet<number> = new Set([401, 407, 408, 423, 425, 429]);

/** 5xx and 401, 407, 408, 423, 425, 429 are released, any other 4xx is refused, the rest is completed. */
export function dispositionOf(status: number): Disposition {
  if (status >= 500 || temporary.has(status)) return "released";
  return status >= 400 ? "refused" : "completed";
}

const storedByDefault: readonly string[] = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-location",
  "content-type",
  "etag",
  "last-modified",
  "link",
  "location",
];

/** Never stored: about one connection, one moment or one user agent, or set by samekey itself. */
const neverStored: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "idempotency-body",
  "idempotency-replayed",
  "idempotency-status",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-connection",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The names of the headers that are stored with an answer. */
export function storedHeaders(more: readonly string[] = []): ReadonlySet<string> {
  const wanted = more.map((name) => name.toLowerCase());
  const refused = wanted.find((name) => neverStored.has(name));
  if (refused !== undefined) {
    throw new MisuseError("bad_option", { detail: `the header ${refused} cannot be stored for replay` });
  }
  return new Set([...storedByDefault, ...wanted]);
}

/** Header lines from either form, with lower-case names. */
export function headerPairs(headers: HeaderInput | undefined): HeaderPair[] {
  if (headers === undefined) return [];
  if (Symbol.iterator in headers) return [...headers].map(([name, value]) => [name.toLowerCase(), value]);
  return Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : value === undefined ? [] : [value]).map(
      (one): HeaderPair => [name.toLowerCase(), String(one)],
    ),
  );
}

/** The names of the marks. */
export const marks: readonly string[] = ["idempotency-status", "idempotency-replayed"];

/** What is sent of an answer. Stored ones bear the marks; they stand on no other, whatever a handler says. */
export function outcomeOf(
  kind: "executed" | "replayed" | "released" | "unprotected",
  { status, headers: lines, body }: Pick<Outcome, "status" | "headers" | "body">,
): Outcome {
  const headers = lines.filter(([name]) => !marks.includes(name));
  if (kind === "executed" || kind === "replayed") headers.push(["idempotency-status", kind]);
  if (kind === "replayed") headers.push(["idempotency-replayed", "true"]);
  return { kind, status, headers, body };
}

/** Body bytes from either form. */
export function bytesOf(body: Answer["body"]): Uint8Array | null {
  return typeof body === "string" ? new TextEncoder().encode(body) : (body ?? null);
}
