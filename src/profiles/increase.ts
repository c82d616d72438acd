import type { Profile } from "../core/profile.js";
import { askAgain } from "./ask-again.js";
import { defineProfile } from "./define.js";

/**
 * Increase: one object per key. Another request under the same key answers 409 with the `resource_id` of the first. Lists
 * filter by key, which serves `reconcile`.
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
  answers: [{ status: 409, code: "idempotency_key_already_used_error", means: "key_reused" }],
});
