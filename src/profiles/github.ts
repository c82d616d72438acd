import type { Profile } from "../core/profile.js";
import { withoutKeys } from "./without-keys.js";

/**
 * GitHub takes no key: a write is sent again only while it provably was not sent. Limits: 403 or 429.
 *
 * @see https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export const github: Profile = withoutKeys({ name: "github", keepHeaders: ["x-github-api-version"] });
