import type { ApiReader, Finding, Profile } from "../core/profile.js";
import type { OperationRecord } from "../core/record.js";
import { askAgain } from "./ask-again.js";
import { defineProfile } from "./define.js";

/**
 * What is listed was applied. That nothing is listed proves nothing: a request may still be on its way. Whatever is no list
 * tells nothing, and is asked for again.
 */
async function reconcile({ key, request }: OperationRecord, { get }: ApiReader): Promise<Finding> {
  const list = new URL(request.url);
  list.search = new URLSearchParams({ idempotency_key: key }).toString();
  const response = await get(list.href);
  if (!response.ok) throw new Error(`samekey: the look-up by key was answered with HTTP ${response.status}`);
  const data: unknown = Object(await response.json()).data;
  if (!Array.isArray(data)) throw new Error("samekey: the look-up by key was answered with something else than a list");
  const isOurs = (object: unknown): boolean => Object(object).idempotency_key === key;
  return data.some(isOurs) ? "applied" : "unknown";
}

/**
 * Increase: one object per key. Another request under the same key answers 409 with the `resource_id` of the first. Lists
 * filter by key: so an unknown outcome is looked up.
 *
 * Unverified: how long a key is kept (pass `retention`), and the answer to one in progress.
 *
 * @see https://increase.com/documentation/idempotency-keys
 */
export const increase: Profile = defineProfile({
  name: "increase",
  methods: ["POST"],
  keyLength: 200,
  replayHeaders: ["idempotent-replayed"],
  read: askAgain,
  reconcile,
  answers: [{ status: 409, code: "idempotency_key_already_used_error", means: "key_reused" }],
});
