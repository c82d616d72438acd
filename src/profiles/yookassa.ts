import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * YooKassa: 202 says that it is being worked on, and is asked again; after a 500 the outcome is unknown, under the same key.
 *
 * Unverified: how long a key is kept (24 h is said; pass `retention`), and the longest key (64 is said).
 *
 * @see https://yookassa.ru/developers/using-api/interaction-format
 */
export const yookassa: Profile = defineProfile({
  name: "yookassa",
  header: "idempotence-key",
  answers: [{ status: 202, means: "in_progress" }],
});
