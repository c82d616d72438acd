import { type WrapFetchOptions, type WrappedFetch, wrapFetch } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import type { Subject } from "./subjects/subject.js";

/** The wrapped `fetch` that a program gives to an SDK. */
export function wrap(
  { options }: Subject,
  url: string,
  path: string,
  more: Partial<WrapFetchOptions> = {},
): WrappedFetch {
  return wrapFetch(globalThis.fetch, {
    name: "sdks",
    owner: "single",
    retention: "24h",
    store: sqliteStore({ path }),
    retry: { base: 10, cap: 50 },
    ...options(url),
    ...more,
  });
}
