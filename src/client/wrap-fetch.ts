import { bad, checkOptions, functionOption } from "./checks.js";
import type { SdkFetch } from "./fetch.js";
import { chosenScope, type Only, type WriteRequest } from "./fetch-scope.js";
import { ofSdk, resolveOptions, shared } from "./options.js";
import type { Platform } from "./platform-port.js";
import { createSdkOver, type Sdk } from "./sdk.js";
import type { OperationOptions, SdkOptions } from "./types.js";

type OfOperation = OperationOptions<unknown, unknown, unknown>;

/** Options of {@link wrapFetch}: those of `createSdk` without operations, and which writes it covers. */
export interface WrapFetchOptions
  extends Omit<SdkOptions, "operations" | "fetch">,
    Pick<OfOperation, "keepHeaders" | "conflict" | "unprocessable" | "settled" | "reconcile" | "onIntentMismatch"> {
  /**
   * Which writes are recorded, keyed and retried: paths below `baseUrl` or absolute URLs, each with everything below it, or
   * a function that tells. Name only endpoints that deduplicate by the key. Required unless there is a profile.
   *
   * @defaultValue with a profile: every write to `baseUrl`'s origin, or without one every write
   */
  readonly only?: Only | undefined;
  /** The intent of a write, where the call itself cannot name it. */
  readonly intent?: ((request: WriteRequest) => string | undefined) | undefined;
}

/** A `fetch` with a small Sdk inside. */
export type WrappedFetch = SdkFetch & {
  /** Records and drives what the wrapped `fetch` covers: `start`, `resume`, `list`, `signOut`, `close`. */
  readonly sdk: Sdk<Record<never, never>>;
};

const own = "keepHeaders conflict unprocessable settled reconcile onIntentMismatch";

/** @internal */
export function wrapFetchWith(
  fetch: typeof globalThis.fetch,
  options: WrapFetchOptions,
  platform: Platform,
): WrappedFetch {
  if (typeof fetch !== "function") bad("`wrapFetch` takes the fetch to wrap, and options");
  const common = `${ofSdk} ${shared}`.replace("operations ", "").replace("fetch ", "");
  checkOptions(options, `${common} ${own} only intent`, "wrapFetch");
  const { only, intent, keepHeaders, conflict, unprocessable, settled, reconcile, onIntentMismatch, ...rest } = options;
  const { baseUrl, headers, profile } = rest;
  if (only === undefined && profile === undefined) {
    bad("`only` is missing: which endpoints deduplicate by the key? Nothing else may be sent twice; or pass a profile");
  }
  if (headers && baseUrl === undefined) bad("`headers` needs `baseUrl`: it is called for that origin only");
  // A platform's fetch refuses to be called as another object's method.
  const plain: typeof globalThis.fetch = (input, init) => fetch(input, init);
  const ofFetch = { keepHeaders, conflict, unprocessable, settled, reconcile, onIntentMismatch };
  const resolved = resolveOptions({ ...rest, fetch: plain }, platform, ofFetch);
  if (rest.retention === undefined && profile === undefined) {
    bad(
      "`retention` is missing: how long does the API remember an idempotency key? Pass it, or a profile that knows it",
    );
  }
  const scope = chosenScope(only, functionOption(intent, "intent"), resolved.baseUrl);
  const sdk = createSdkOver<Record<never, never>>(resolved, platform, scope);
  return Object.assign<SdkFetch, { sdk: typeof sdk }>((input, init) => sdk.fetch(input, init), { sdk });
}
