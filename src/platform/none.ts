import type { Platform } from "../client/platform-port.js";
import { createSdkWith } from "../client/sdk.js";
import type { Sdk } from "../client/sdk-interface.js";
import type { Operations, SdkOptions } from "../client/types.js";
import { type WrapFetchOptions, type WrappedFetch, wrapFetchWith } from "../client/wrap-fetch.js";
import { mintUuid } from "../core/key.js";
import { MisuseError } from "../errors.js";
import { realClock } from "./real-clock.js";
import { secureRandom } from "./secure-random.js";
import { provesUnsent } from "./unsent.js";

/** What is there everywhere; browsers and Node put their own on top. */
export const commonPlatform: Platform = {
  clock: realClock,
  random: secureRandom,
  telemetry: [],
  concurrency: 6,
  pollEvery: 30_000,
  seesRedirects: false,
  provesUnsent: () => false,
  defaultStore() {
    throw new MisuseError("bad_option", {
      detail: "`store` is missing: this platform has no default one; pass for instance memoryStore() or your own",
    });
  },
  defaultBaseUrl: () => undefined,
  isOffline: () => false,
  onWake: () => () => {},
  openChannel: () => undefined,
  createHolder(random) {
    let id: string | undefined;
    return {
      get id() {
        id ??= mintUuid("v4", 0, random);
        return id;
      },
      survey: async () => () => false,
      release: () => {},
    };
  },
  async digest(bytes) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return `sha256:${[...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  },
};

/**
 * Makes an Sdk. Does no I/O and touches no global: the store opens at first use.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function createSdk<const Ops extends Operations>(options: SdkOptions<Ops>): Sdk<Ops> {
  return createSdkWith(options, { ...commonPlatform, provesUnsent });
}

/**
 * Wraps a `fetch`: the writes that it covers are recorded, keyed, retried and resumable, everything else passes through
 * untouched. Does no I/O until it is called.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function wrapFetch(fetch: typeof globalThis.fetch, options: WrapFetchOptions): WrappedFetch {
  return wrapFetchWith(fetch, options, { ...commonPlatform, provesUnsent });
}
