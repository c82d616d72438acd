import type { Answer, Verdict } from "../core/classify.js";
import type { Profile, ProfileRequest } from "../core/profile.js";
import { parseHttpDate } from "../core/retry-after.js";
import { defineProfile } from "./define.js";

/** For APIs that take no key: a 409 or 422 cannot be about one, and a limit says when it ends. */
export function withoutKeys(
  options: Pick<Profile, "name" | "keepHeaders" | "read" | "streamField" | "attemptTimeout">,
): Profile {
  return defineProfile({
    ...options,
    header: null,
    dedupes: false,
    read: (answer, request) => options.read?.(answer, request) ?? limited(answer, request),
    answers: [
      { status: 409, means: "refused" },
      { status: 422, means: "refused" },
    ],
  });
}

/** A limit that says in `x-ratelimit-reset`, in seconds since the Unix epoch, when it ends. */
function limited({ status, headers, after }: Answer, { now }: ProfileRequest): Verdict | undefined {
  const reset = headers.get("x-ratelimit-reset")?.trim() ?? "";
  const isLimit = status === 429 || (status === 403 && headers.get("x-ratelimit-remaining") === "0");
  if (!isLimit || after !== undefined || !/^\d{9,11}$/.test(reset)) return undefined;
  const serverNow = parseHttpDate(headers.get("date"), now) ?? now;
  return { kind: "retry", certain: true, after: Math.max(0, Number(reset) * 1000 - serverNow) };
}
