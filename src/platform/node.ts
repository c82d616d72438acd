import { createHash } from "node:crypto";
import type { Platform } from "../client/platform-port.js";
import { createSdkWith } from "../client/sdk.js";
import type { Sdk } from "../client/sdk-interface.js";
import type { Operations, SdkOptions } from "../client/types.js";
import { type WrapFetchOptions, type WrappedFetch, wrapFetchWith } from "../client/wrap-fetch.js";
import { sqliteStore } from "../stores/sqlite.js";
import { channels } from "./channels.js";
import { createHolder } from "./holder.js";
import { keepAlive } from "./keep-alive.js";
import { commonPlatform } from "./none.js";
import { provesUnsent } from "./unsent.js";

const nodePlatform: Platform = {
  ...commonPlatform,
  telemetry: [channels],
  concurrency: 32,
  // Other processes on the same file have no way to call.
  pollEvery: 2_000,
  seesRedirects: true,
  provesUnsent,
  defaultStore: () => sqliteStore(),
  keepAlive,
  createHolder,
  digest,
};

/** As every Node process makes it. */
export async function digest(bytes: Uint8Array): Promise<string> {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/**
 * Makes an Sdk. Does no I/O and touches no global: the store opens at first use.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function createSdk<const Ops extends Operations>(options: SdkOptions<Ops>): Sdk<Ops> {
  return createSdkWith(options, nodePlatform);
}

/**
 * Wraps a `fetch`: the writes that it covers are recorded, keyed, retried and resumable, everything else passes through
 * untouched. Does no I/O until it is called.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function wrapFetch(fetch: typeof globalThis.fetch, options: WrapFetchOptions): WrappedFetch {
  return wrapFetchWith(fetch, options, nodePlatform);
}
