import type { HeaderPair, Outcome, OutcomeKind } from "./answer.js";

/** Codes in the `error` member of samekey's own answers. */
export type ProblemCode =
  | "idempotency_key_missing"
  | "idempotency_key_invalid"
  | "idempotency_key_time"
  | "idempotency_key_expired"
  | "idempotency_key_reused_with_different_body"
  | "in_progress"
  | "unauthenticated"
  | "outcome_unknown"
  | "unavailable"
  | "handler_timeout"
  | "not_stored";

const problems: Record<ProblemCode, readonly [kind: OutcomeKind, status: number, title: string, retryAfter?: number]> =
  {
    idempotency_key_missing: ["invalid", 400, "This request needs an Idempotency-Key header"],
    idempotency_key_invalid: [
      "invalid",
      400,
      "The Idempotency-Key must be one value of 1 to 255 visible ASCII characters",
    ],
    idempotency_key_time: [
      "invalid",
      400,
      "The key's time lies too far in the future; check the clock, or use a random key",
    ],
    idempotency_key_expired: [
      "expired",
      410,
      "The key is past its retention window; what it did, if anything, is no longer known",
    ],
    idempotency_key_reused_with_different_body: ["mismatched", 422, "The key was used before with a different request"],
    in_progress: ["in_progress", 409, "A request with this key is being processed", 1],
    unauthenticated: ["invalid", 401, "The request's account is not known"],
    outcome_unknown: [
      "unavailable",
      503,
      "The database did not confirm the commit; repeat the request with the same key",
      1,
    ],
    unavailable: ["unavailable", 503, "The database cannot be reached; repeat the request with the same key", 1],
    handler_timeout: [
      "unavailable",
      503,
      "The request took too long and was rolled back; repeat it with the same key",
      1,
    ],
    not_stored: ["unavailable", 500, "The answer could not be stored, and everything was rolled back"],
  };

/** One of samekey's own answers: `application/problem+json` (RFC 9457) with an `error` member, and no marks. */
export function problem(code: ProblemCode): Outcome {
  const [kind, status, title, retryAfter] = problems[code];
  const headers: HeaderPair[] = [
    ["content-type", "application/problem+json"],
    ["cache-control", "no-store"],
  ];
  if (retryAfter !== undefined) headers.push(["retry-after", String(retryAfter)]);
  const body = JSON.stringify({ error: code, status, title });
  return { kind, status, headers, body: new TextEncoder().encode(body) };
}
