import type { ApiReader, Finding, Profile } from "../core/profile.js";
import type { OperationRecord } from "../core/record.js";
import { askAgain } from "./ask-again.js";
import { defineProfile } from "./define.js";

/** What is listed was applied. That nothing is listed proves nothing: a request may still be on its way. */
async function reconcile({ key, request }: OperationRecord, { get }: ApiReader): Promise<Finding> {
  const list = new URL(request.url);
  list.search = new URLSearchParams({ idempotency_key: key }).toString();
  const response = await get(list.href);
  if ([401, 429].includes(response.status) || response.status >= 500)
    throw new Error(`HTTP ${response.status} to a look-up`);
  const found: unknown = response.ok ? await response.json() : undefined;
  const data: unknown = Object(found).data;
  const isOurs = (object: unknown): boolean => Object(object).idempotency_key === key;
  return Array.isArray(data) && data.some(isOurs) ? "applied" : "unknown";
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
