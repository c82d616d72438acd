import type { Answer, Verdict } from "../core/classify.js";
import type { ProfileRequest } from "../core/profile.js";

/** What the default table reads as something else than a plain refusal. */
const others = new Set([401, 407, 408, 409, 410, 422, 423, 425, 429]);

/**
 * For APIs that mark a stored answer when they replay it, but not when they give it first: a refusal that comes while an
 * earlier attempt may have been applied is asked for once more, for a bounded time. If it was stored, it comes back marked.
 */
export function askAgain({ status, speaks, after }: Answer, { uncertain }: ProfileRequest): Verdict | undefined {
  const isRefusal = status >= 400 && status < 500 && !others.has(status);
  return isRefusal && uncertain && !speaks ? { kind: "retry", certain: false, conflict: true, after } : undefined;
}
