import { bad, checkOptions, functionOption } from "./checks.js";
import type { SdkFetch } from "./fetch.js";
import { chosenScope, type IntentOf, type Only } from "./fetch-scope.js";
import { ofSdk, resolveOptions, shared } from "./options.js";
import type { Platform } from "./platform-port.js";
import { createSdkOver } from "./sdk.js";
import type { Sdk } from "./sdk-interface.js";
import type { OperationOptions, SdkOptions } from "./types.js";

/** Options of {@link wrapFetch}: those of `createSdk` without operations, and which writes it covers. */
export interface WrapFetchOptions
  extends Omit<SdkOptions, "operations" | "fetch">,
    Pick<
      OperationOptions<unknown, unknown, unknown>,
      "keepHeaders" | "ignoreHeaders" | "conflict" | "unprocessable" | "settled" | "reconcile" | "onIntentMismatch"
    > {
  /**
   * Which writes are recorded, keyed and retried: paths below `baseUrl` or absolute URLs, each with everything below it, or
   * a function that tells. Name only endpoints that deduplicate by the key. Required unless there is a profile.
   *
   * @defaultValue with a profile: every write to `baseUrl`'s origin, or without one every write
   */
  readonly only?: Only | undefined;
  /** The intent of a write, where the call itself cannot name it. */
  readonly intent?: IntentOf | undefined;
}

/** A `fetch` with a small Sdk inside. */
export type WrappedFetch = SdkFetch & {
  /** Records and drives what the wrapped `fetch` covers: `start`, `resume`, `list`, `signOut`, `close`. */
  readonly sdk: Sdk<Record<never, never>>;
};

const own = "keepHeaders ignoreHeaders conflict unprocessable settled reconcile onIntentMismatch";

/** @internal */
export function wrapFetchWith(
  fetch: typeof globalThis.fetch,
  options: WrapFetchOptions,
  platform: Platform,
): WrappedFetch {
  const ofSdkAlone = `${ofSdk} ${shared}`.replace(/operations |fetch /g, "");
  checkOptions(options, `${ofSdkAlone} ${own} only intent`, "wrapFetch");
  if (typeof fetch !== "function") bad("`fetch` is not a function");
  const { only, intent, baseUrl, headers, profile, retention } = options;
  if (only === undefined && profile === undefined) {
    bad("`only` or a profile is missing: which endpoints deduplicate? Nothing else may be sent twice");
  }
  if (retention === undefined && profile === undefined) {
    bad("`retention` or a profile is missing: how long does the API remember an idempotency key?");
  }
  if (headers && baseUrl === undefined) bad("`headers` needs `baseUrl`: it is called for that origin only");
  const sdkOptions = { ...pick(options, ofSdkAlone), fetch } as SdkOptions;
  const resolved = resolveOptions(sdkOptions, platform, pick(options, own));
  const scope = chosenScope(only, functionOption(intent, "intent"), resolved.baseUrl);
  const sdk = createSdkOver<Record<never, never>>(resolved, platform, scope);
  return Object.assign<SdkFetch, { sdk: typeof sdk }>((input, init) => sdk.fetch(input, init), { sdk });
}

function pick(options: object, names: string): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.split(" ").includes(name)));
}
