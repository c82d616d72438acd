import type { Profile } from "../core/profile.js";
import { askAgain } from "./ask-again.js";
import { defineProfile } from "./define.js";

/**
 * Apache Fineract: 425 says that the key is in progress. Bodies are not compared: another one under the same key replays
 * the first answer. A replay is marked.
 *
 * Unverified: how long a key is kept (pass `retention`).
 *
 * @see https://fineract.apache.org/docs/current/
 */
export const fineract: Profile = defineProfile({
  name: "fineract",
  keyLength: 50,
  replayHeaders: ["x-served-from-cache"],
  read: askAgain,
  answers: [{ status: 425, means: "in_progress" }],
});
