import { decode } from "./body.js";
import type { BlockedBy } from "./record.js";
import { type HeaderReader, parseRetryAfter } from "./retry-after.js";

/** What came of one attempt, told by where it was observed; never by an error's message. */
export type Signal =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: HeaderReader;
      /** The whole body; absent when it was cut off, empty when it was too long to be read. */
      readonly body?: ArrayBuffer | undefined;
      readonly exceeded?: boolean | undefined;
    }
  /** A response whose status the browser hides: no-cors, or a redirect that was not followed. */
  | { readonly kind: "opaque"; readonly redirect: boolean }
  /** It failed before the first byte could have left: DNS, refused, TLS, or `headers()` threw. */
  | { readonly kind: "unsent" }
  /** `fetch` or the reading of the body threw: reset, time-out, a browser's `TypeError`. */
  | { readonly kind: "thrown" };

/** What an attempt's outcome means for the operation. */
export type Verdict =
  | { readonly kind: "succeeded"; readonly speaks: boolean }
  /** Refused: final if it speaks for the key or nothing is uncertain. */
  | { readonly kind: "refused"; readonly speaks: boolean }
  | {
      readonly kind: "misused";
      readonly code: "key_reused" | "unprocessable" | "key_missing";
      readonly speaks: boolean;
    }
  /** Again later. `certain`: this attempt was not applied. `after`: the wait that the server asked for. */
  | {
      readonly kind: "retry";
      readonly certain: boolean;
      readonly after?: number | undefined;
      /** A 409 that nobody explained: retried for a bounded time only. */
      readonly conflict?: boolean | undefined;
    }
  | { readonly kind: "blocked"; readonly by: BlockedBy; readonly certain: boolean }
  /** The server calls the key too old. */
  | { readonly kind: "key_expired" }
  /** The server will never tell more under this key, and it may have been applied. */
  | { readonly kind: "unresolved" };

/** How one operation reads its API's answers. */
export interface AnswerRules {
  /** Whether a body of JSON is expected, so that unmarked HTML betrays a captive portal. */
  readonly json: boolean;
  readonly conflict: "in-progress" | "rejected";
  readonly unprocessable: "misused" | "rejected";
  /** Names of headers that mark a replay, besides the default ones. */
  readonly replayHeaders?: readonly string[] | undefined;
  /** Overrides any row: answers `undefined` to leave it to the table. */
  readonly override?: ((answer: Answer) => Verdict | undefined) | undefined;
}

/** A response as the table reads it. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderReader;
  readonly body: ArrayBuffer;
  /** Its body has more bytes than `maxResponse` allows: `body` is empty. */
  readonly exceeded?: boolean | undefined;
  /** The server has bound this answer to the key. */
  readonly speaks: boolean;
  /** Error codes found in a refusal's JSON body, in lower case with `_`; of a problem's `type` the last segment. */
  readonly codes: readonly string[];
  /** What `Retry-After` asks for, in milliseconds. */
  readonly after: number | undefined;
}

/** Of the request, or its key: whatever the status, an earlier delivery may be under way. */
const BUSY = [
  "request_in_progress",
  "idempotency_in_progress",
  "idempotency_key_in_progress",
  "idempotency_key_in_use",
];
/** This may be the order's own state. */
const IN_PROGRESS = ["in_progress", ...BUSY];
const REUSED = ["idempotency_key_reused_with_different_body", "idempotency_key_reused", "key_reused"];
const EXPIRED = ["idempotency_key_expired", "key_expired", "idempotency_key_time"];
const MISSING = ["idempotency_key_missing", "idempotency_key_required", "idempotency_key_invalid", "key_missing"];

interface Row {
  readonly when: (answer: Answer, rules: AnswerRules) => boolean;
  readonly verdict: (answer: Answer) => Verdict;
}

const is =
  (...statuses: number[]) =>
  ({ status }: Answer): boolean =>
    statuses.includes(status);
const between =
  (from: number, to: number) =>
  ({ status }: Answer): boolean =>
    status >= from && status <= to;
const says =
  (codes: readonly string[]) =>
  (answer: Answer): boolean =>
    answer.codes.some((code) => codes.includes(code));
const retry =
  (certain: boolean) =>
  ({ after }: Answer): Verdict => ({ kind: "retry", certain, after });
const refused = ({ speaks }: Answer): Verdict => ({ kind: "refused", speaks });
const misused =
  (code: "key_reused" | "unprocessable" | "key_missing") =>
  ({ speaks }: Answer): Verdict => ({ kind: "misused", code, speaks });

/** The first row that fits decides. */
const table: readonly Row[] = [
  { when: (a, rules) => between(200, 299)(a) && isPortal(a, rules), verdict: () => blocked("refused", false) },
  { when: between(200, 299), verdict: ({ speaks }) => ({ kind: "succeeded", speaks }) },
  { when: (a) => a.status === 422 && says(REUSED)(a), verdict: misused("key_reused") },
  { when: (a) => !a.speaks && between(400, 499)(a) && says(BUSY)(a), verdict: retry(false) },
  { when: (a, rules) => a.status === 422 && rules.unprocessable === "misused", verdict: misused("unprocessable") },
  // From here on an answer that speaks settles, whatever its status.
  // A redirect that is bound to the key tells where the effect can be seen.
  { when: (a) => a.speaks && between(300, 399)(a), verdict: () => ({ kind: "succeeded", speaks: true }) },
  { when: ({ speaks }) => speaks, verdict: refused },
  { when: between(300, 399), verdict: () => blocked("redirected", false) },
  { when: (a) => a.status === 409 && (a.after !== undefined || says(IN_PROGRESS)(a)), verdict: retry(false) },
  { when: (a, rules) => a.status === 409 && rules.conflict === "rejected", verdict: refused },
  { when: is(409), verdict: () => ({ kind: "retry", certain: false, conflict: true }) },
  { when: is(401, 407, 511), verdict: () => blocked("credentials", true) },
  { when: (a) => a.status === 410 || (a.status === 400 && says(EXPIRED)(a)), verdict: () => ({ kind: "key_expired" }) },
  { when: (a) => a.status === 400 && says(MISSING)(a), verdict: misused("key_missing") },
  { when: (a) => is(425, 429)(a) || (a.status === 403 && isRateLimit(a)), verdict: retry(true) },
  { when: is(408, 423), verdict: retry(false) },
  { when: (a) => between(400, 499)(a) || is(501, 505)(a), verdict: refused },
  { when: () => true, verdict: retry(false) },
];

/** What an attempt's outcome means. Pure: the same signal always means the same. */
export function classify(signal: Signal, rules: AnswerRules, now: number): Verdict {
  if (signal.kind === "unsent") return { kind: "retry", certain: true };
  if (signal.kind === "opaque" && signal.redirect) return blocked("redirected", false);
  // A status without its body is no answer: what the body would have said is unknown.
  if (signal.kind !== "answer" || signal.body === undefined) return { kind: "retry", certain: false };
  const answer = readAnswer(signal, signal.body, now, rules.replayHeaders);
  const overridden = rules.override?.(answer);
  if (overridden) return overridden;
  const row = table.find(({ when }) => when(answer, rules));
  return row ? row.verdict(answer) : { kind: "retry", certain: false };
}

/** Whether the server has bound its answer to the key; all others come from something in front of it. */
export function speaksForKey(headers: HeaderReader, replayHeaders: readonly string[] = []): boolean {
  const isMarked = headers.get("idempotency-status") !== null || headers.get("idempotency-replayed") !== null;
  return isMarked || replayHeaders.some((name) => isTrue(headers.get(name)));
}

/** Whether the server said that it answered from its own record. */
export function isReplay(headers: HeaderReader, replayHeaders: readonly string[] = []): boolean {
  const status = headers.get("idempotency-status")?.toLowerCase();
  return status === "replayed" || ["idempotency-replayed", ...replayHeaders].some((name) => isTrue(headers.get(name)));
}

/** A structured-field boolean is written `?0`. */
function isTrue(value: string | null): boolean {
  return !["false", "?0", "0", ""].includes(value?.toLowerCase() ?? "false");
}

/** A response with what the table needs to know of it. */
export function readAnswer(
  { status, headers, exceeded }: Pick<Answer, "status" | "headers" | "exceeded">,
  body: ArrayBuffer,
  now: number,
  replayHeaders?: readonly string[],
): Answer {
  // Codes matter on refusals only, and reading a large success twice would cost.
  const codes = status >= 400 ? errorCodes(headers, body) : [];
  const speaks = speaksForKey(headers, replayHeaders);
  return { status, headers, body, exceeded, speaks, codes, after: parseRetryAfter(headers, now) };
}

function errorCodes(headers: HeaderReader, body: ArrayBuffer): string[] {
  if (!/\bjson\b/i.test(headers.get("content-type") ?? "") || body.byteLength > 65_536) return [];
  try {
    const found = JSON.parse(decode(body)) as Record<string, unknown> | null;
    const error = found?.error;
    const nested = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
    return [error, found?.code, found?.type, nested.code, nested.type]
      .filter((code): code is string => typeof code === "string")
      .map((code) => (code.split(/[/#:]/).findLast((part) => part !== "") ?? "").toLowerCase().replaceAll("-", "_"));
  } catch {
    return [];
  }
}

function blocked(by: BlockedBy, certain: boolean): Verdict {
  return { kind: "blocked", by, certain };
}

/** HTML where JSON is expected. An empty body is none: servers name HTML as its type without meaning it. */
function isPortal({ headers, speaks, body, exceeded }: Answer, rules: AnswerRules): boolean {
  if (!rules.json || speaks || (body.byteLength === 0 && !exceeded)) return false;
  return /^(text\/html|application\/xhtml\+xml)\b/i.test(headers.get("content-type") ?? "");
}

function isRateLimit({ headers, after }: Answer): boolean {
  if (after !== undefined) return true;
  if (["x-ratelimit-remaining", "ratelimit-remaining"].some((name) => headers.get(name) === "0")) return true;
  return /(^|[;,\s])(r|remaining)=0\s*([;,]|$)/.test(headers.get("ratelimit") ?? "");
}
