import type { HeaderPair, Outcome, OutcomeKind } from "./answer.js";

/** Codes in the `error` member of samekey's own answers. */
export type ProblemCode =
  | "idempotency_key_missing"
  | "idempotency_key_invalid"
  | "idempotency_key_time"
  | "idempotency_key_expired"
  | "idempotency_key_reused_with_different_body"
  | "in_progress"
  | "body_too_large"
  | "unauthenticated"
  | "outcome_unknown"
  | "unavailable"
  | "handler_timeout"
  | "contention"
  | "outcome_unknown_without_key"
  | "answer_unreadable"
  | "not_stored";

type Problem = readonly [kind: OutcomeKind, status: number, title: string, detail: string, retryAfter?: number];

/** The titles of the cases that the IETF draft knows are the draft's own. */
const problems: Record<ProblemCode, Problem> = {
  idempotency_key_missing: [
    "invalid",
    400,
    "Idempotency-Key is missing",
    "This operation needs an Idempotency-Key header. Send one key per operation, and the same key with every retry.",
  ],
  idempotency_key_invalid: [
    "invalid",
    400,
    "Idempotency-Key is invalid",
    "The header must be there once, and hold one key of 1 to 255 visible ASCII characters, bare or in quotes.",
  ],
  idempotency_key_time: [
    "invalid",
    400,
    "Idempotency-Key lies in the future",
    "The time in this UUIDv7 is too far ahead. Check the clock, or use a random key.",
  ],
  idempotency_key_expired: [
    "expired",
    410,
    "Idempotency-Key has expired",
    "The key is past its retention window. What it did, if anything, is no longer known.",
  ],
  idempotency_key_reused_with_different_body: [
    "mismatched",
    422,
    "Idempotency-Key is already used",
    "The key was used before with another method, path, query, content type or body. Send another operation under a key of its own.",
  ],
  in_progress: [
    "in_progress",
    409,
    "A request is outstanding for this Idempotency-Key",
    "A request with this key is being processed. Repeat it with the same key to get its answer.",
    1,
  ],
  body_too_large: ["invalid", 413, "Body too large", "The body is larger than this operation takes."],
  unauthenticated: ["invalid", 401, "Unauthenticated", "The account that this request acts for is not known."],
  outcome_unknown: [
    "unavailable",
    503,
    "Outcome unknown",
    "The database did not confirm the commit. Repeat the request with the same key.",
    1,
  ],
  unavailable: [
    "unavailable",
    503,
    "Service unavailable",
    "The database cannot be reached. Repeat the request with the same key.",
    1,
  ],
  handler_timeout: [
    "unavailable",
    503,
    "Request timed out",
    "The request took too long and was rolled back. Repeat it with the same key.",
    1,
  ],
  contention: [
    "unavailable",
    503,
    "Too much contention",
    "The request kept losing against others that need the same data, and was rolled back. Repeat it with the same key.",
    1,
  ],
  outcome_unknown_without_key: [
    "unavailable",
    500,
    "Outcome unknown",
    "The database did not confirm the commit, and the request had no key. Look whether it took effect before repeating it.",
  ],
  answer_unreadable: [
    "unavailable",
    500,
    "Stored answer unreadable",
    "The operation was carried out before, and does not run again. What it was answered cannot be read at present.",
  ],
  not_stored: [
    "unavailable",
    500,
    "Answer not stored",
    "The answer could not be stored, and everything was rolled back. Repeat the request with the same key.",
  ],
};

const documentation = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header";

/**
 * One of samekey's own answers: `application/problem+json` (RFC 9457) with an `error` member, and no marks.
 * @param cause - what failed; for logs, not for the client
 */
export function problem(code: ProblemCode, cause?: unknown): Outcome {
  const [kind, status, title, detail, retryAfter] = problems[code];
  const headers: HeaderPair[] = [
    ["content-type", "application/problem+json"],
    ["cache-control", "no-store"],
    ["link", `<${documentation}>; rel="describedby"`],
  ];
  if (retryAfter !== undefined) headers.push(["retry-after", String(retryAfter)]);
  const body = JSON.stringify({ type: `${documentation}#${code}`, title, status, detail, error: code });
  const outcome = { kind, status, headers, body: new TextEncoder().encode(body) };
  return cause === undefined ? outcome : { ...outcome, cause };
}
