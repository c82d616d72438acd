import { bad, checkOptions } from "../core/checks.js";
import type { Answer, Verdict } from "../core/classify.js";
import { checkProfile, type Profile, type ProfileRequest } from "../core/profile.js";
import { says } from "./codes.js";

/**
 * What an answer of an API means.
 *
 * - `in_progress`: an earlier copy is being worked on; asked again
 * - `already_done`: it was applied before; a success
 * - `refused`: not done; final only where nothing may have been applied
 * - `key_reused`: the API knows the key from another request
 * - `key_missing`: the API got no key, or one that it does not take
 * - `key_expired`: the key is too old
 */
export type Meaning = "in_progress" | "already_done" | "refused" | "key_reused" | "key_missing" | "key_expired";

/** One answer that an API means differently. */
export interface AnswerRule {
  readonly status: number;
  /** An error code that the body has to hold, in any case. @defaultValue any body */
  readonly code?: string | undefined;
  readonly means: Meaning;
}

/** What {@link defineProfile} takes: a profile, and answers told as data. */
export interface ProfileOptions extends Profile {
  /** The first that fits counts, and goes before `read`. */
  readonly answers?: readonly AnswerRule[] | undefined;
}

const verdicts: Readonly<Record<Meaning, (answer: Answer) => Verdict>> = {
  in_progress: ({ after }) => ({ kind: "retry", certain: false, after }),
  already_done: () => ({ kind: "succeeded", speaks: true }),
  refused: ({ speaks }) => ({ kind: "refused", speaks }),
  key_reused: ({ speaks }) => ({ kind: "misused", code: "key_reused", speaks }),
  key_missing: ({ speaks }) => ({ kind: "misused", code: "key_missing", speaks }),
  key_expired: () => ({ kind: "key_expired" }),
};

/**
 * The contract of an API, checked at once.
 *
 * @throws MisuseError `bad_option`, naming the field
 * @example
 * ```ts
 * const bank = defineProfile({
 *   name: "bank",
 *   header: "x-request-id",
 *   retention: "7d",
 *   answers: [{ status: 409, code: "still_working", means: "in_progress" }],
 * });
 * ```
 */
export function defineProfile(options: ProfileOptions): Profile {
  const { answers = [], ...profile } = Object(options) as ProfileOptions;
  checkProfile(profile, "profile");
  if (typeof profile.name !== "string" || profile.name === "") bad("`profile.name` is missing: it stands in errors");
  checkMinted(profile);
  checkAnswers(answers);
  const { read } = profile;
  if (answers.length === 0) return Object.freeze(profile);
  const told = (answer: Answer, request: ProfileRequest): Verdict | undefined => {
    const rule = answers.find(({ status, code }) => answer.status === status && (!code || says(answer, code)));
    return rule ? verdicts[rule.means](answer) : read?.(answer, request);
  };
  return Object.freeze({ ...profile, read: told });
}

/** The keys that samekey mints have to fit as well. */
function checkMinted({ key = "v7", keyFormat, keyLength = 255, routes = [] }: Profile): void {
  const minted = key === "v7" ? "019b76da-a800-7cc8-a813-3949a2321287" : "2f1c6f0a-6e2b-4c1d-9a57-0d2b8f3c4e5a";
  if (keyFormat && minted.search(keyFormat) < 0) bad(`\`profile.keyFormat\` fits no UUID${key}: samekey mints those`);
  const shortest = Math.min(keyLength, ...routes.map((route) => route.keyLength ?? keyLength));
  if (shortest < minted.length) bad(`\`profile.keyLength\` is ${shortest}, and the UUIDs that samekey mints have 36`);
}

function checkAnswers(answers: unknown): void {
  if (!Array.isArray(answers)) bad("`profile.answers` is no list");
  for (const [index, rule] of (answers as AnswerRule[]).entries()) {
    const at = `profile.answers[${index}]`;
    checkOptions(rule, "status code means", `\`${at}\``);
    const { status, code, means } = rule;
    if (!Number.isInteger(status) || status < 200 || status > 599) bad(`\`${at}.status\` is ${status}, no HTTP status`);
    if (code !== undefined && (typeof code !== "string" || code === "")) bad(`\`${at}.code\` is no text`);
    if (!Object.hasOwn(verdicts, means)) {
      bad(`\`${at}.means\` is ${JSON.stringify(means)}, expected one of ${Object.keys(verdicts).join(", ")}`);
    }
  }
}
