import { backoff } from "../core/backoff.js";
import { type Answer, classify, type Verdict } from "../core/classify.js";
import type { EventOf } from "../core/event.js";
import { fraction } from "../core/random.js";
import type { OperationRecord } from "../core/record.js";
import type { Mint } from "../core/transition.js";
import { type AttemptResult, requestOf } from "./attempt.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";

/** For how long an unexplained 409 is retried. */
const PATIENCE = 60_000;

/** What else is known when an attempt has ended. */
export interface Circumstances {
  readonly startedAt: number;
  readonly serverAt: number | undefined;
  readonly mint: Mint;
  /** Whether someone waits for the outcome. */
  readonly waiting: boolean;
}

/** How an attempt ended, as its record is told. */
export type Ended = EventOf<"unsent"> | EventOf<"answer">;

/** What an attempt's end means for its record. */
export function eventOf(
  record: OperationRecord,
  operation: ResolvedOperation,
  result: AttemptResult,
  options: ResolvedOptions,
  { startedAt, serverAt, mint, waiting }: Circumstances,
): Ended {
  const at = options.clock.now();
  const verdict = judge(record, result, operation, options, at);
  const isUnsent = result.signal.kind === "unsent";
  const { base, cap, backgroundCap, attempts } = operation.retry;
  const asked = verdict.kind === "retry" ? (verdict.after ?? 0) : 0;
  const own = backoff(record.attempts, base, waiting ? cap : backgroundCap, fraction(options.random));
  const word = result.forbidden ? "not_sent" : isUnsent ? "unsent" : verdict.kind;
  const ended = {
    at,
    serverAt,
    fence: record.fence,
    entry: { at: startedAt, ms: at - startedAt, verdict: word, status: result.status, cause: nameOf(result.error) },
    delay: result.forbidden ? 0 : Math.max(asked, own),
    hook: operation.hooked,
  };
  if (isUnsent) {
    return { type: "unsent", block: result.block, maxAttempts: result.made ? attempts : undefined, ...ended };
  }
  const { response, timedOut } = result;
  return { type: "answer", verdict, response, timedOut, maxAttempts: attempts, patience: PATIENCE, mint, ...ended };
}

function judge(
  record: OperationRecord,
  { signal }: AttemptResult,
  operation: ResolvedOperation,
  options: ResolvedOptions,
  at: number,
): Verdict {
  const { read } = operation.profile ?? {};
  const { method, url } = record.request;
  const override = read && ((answer: Answer) => read(answer, requestOf(record, at)));
  try {
    const verdict = classify(signal, override ? { ...operation.rules, override } : operation.rules, at);
    if (isVerdict(verdict)) return patient(verdict, operation.terms(method, url).gap);
    throw new TypeError("it answered with no verdict; it must answer synchronously");
  } catch (cause) {
    options.log({ level: "error", message: "the profile's `read` failed", name: operation.name, cause });
    return { kind: "retry", certain: false };
  }
}

/** No sooner than the API wants to be asked again. */
function patient(verdict: Verdict, gap: number | undefined): Verdict {
  if (verdict.kind !== "retry" || gap === undefined) return verdict;
  return { ...verdict, after: Math.max(verdict.after ?? 0, gap) };
}

/** A profile may be plain JavaScript. */
function isVerdict(verdict: Verdict): boolean {
  switch (verdict.kind) {
    case "succeeded":
    case "refused":
    case "key_expired":
    case "unresolved":
      return true;
    case "misused":
      return ["key_reused", "unprocessable", "key_missing"].includes(verdict.code);
    case "blocked":
      return ["credentials", "redirected", "refused", "headers", "operation"].includes(verdict.by);
    case "retry":
      return verdict.after === undefined || (Number.isFinite(verdict.after) && verdict.after >= 0);
    default:
      return false;
  }
}

/**
 * Of an error only its name and code: a message may quote what must not be at rest. Those of programs may be anything
 * too, so that they count only where they look like what they are.
 */
export function nameOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (!(error instanceof Error)) return typeof error;
  const { code } = ((error.cause as { code?: unknown } | undefined) ?? error) as { code?: unknown };
  const name = /^[A-Z][A-Za-z]{0,40}(Error|Exception)$/.test(error.name) ? error.name : "Error";
  const isCode = typeof code === "string" && /^([A-Z]+(_[A-Z]+)*|(UND_)?ERR_[A-Z\d_]+|[a-z]+(_[a-z]+)*)$/.test(code);
  return isCode && code.length <= 60 ? `${name} ${code}` : name;
}
