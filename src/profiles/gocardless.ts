import type { Answer } from "../core/classify.js";
import type { Profile, ProfileRequest } from "../core/profile.js";
import { says, textOf } from "./codes.js";
import { defineProfile } from "./define.js";

const CREATED = "idempotent_creation_conflict";

/** What was created stands below the collection that it was posted to. */
function lookUp(answer: Answer, { url }: ProfileRequest): string | undefined {
  if (answer.status !== 409 || !says(answer, CREATED)) return undefined;
  const id = textOf(answer, "conflicting_resource_id");
  return id && `${new URL(url).pathname.replace(/\/$/, "")}/${encodeURIComponent(id)}`;
}

/**
 * GoCardless: a repeated creation answers 409 with the id of what was created. It is read, and is the result. Only what creates something deduplicates, no
 * action on it.
 *
 * Unverified: how long a key is kept (pass `retention`), and the answer to one in progress.
 *
 * @see https://developer.gocardless.com/api-reference/#making-requests-idempotency-keys
 */
export const gocardless: Profile = defineProfile({
  name: "gocardless",
  methods: ["POST"],
  routes: [{ path: /\/actions\//, dedupes: false }],
  keepHeaders: ["gocardless-version"],
  lookUp,
  answers: [{ status: 409, code: CREATED, means: "already_done" }],
});
