import { defaultRetry, type RetryPolicy } from "../core/backoff.js";
import type { AnswerRules } from "../core/classify.js";
import { type Duration, toMs } from "../core/durations.js";
import type { Random } from "../core/random.js";
import { MisuseError } from "../errors.js";
import type { Clock, Store } from "../store.js";
import type { Platform } from "./platform-port.js";
import type { AnyDefinition, HeadersProvider, LogEntry, OperationOptions, SdkOptions, SharedOptions } from "./types.js";

/** Everything about one operation, resolved and validated. */
export interface ResolvedOperation {
  readonly name: string;
  /** Absent for operations that this deploy does not declare. */
  readonly definition: AnyDefinition | undefined;
  readonly options: OperationOptions<unknown, unknown, unknown>;
  readonly rules: AnswerRules;
  readonly retention: number | undefined;
  readonly header: string;
  readonly quoted: boolean;
  readonly mint: "v7" | "v4";
  readonly dedupes: boolean;
  /** Lower case. */
  readonly keepHeaders: readonly string[];
  readonly retry: RetryPolicy;
  readonly attemptTimeout: number;
  /** `undefined`: for as long as it takes. */
  readonly wait: number | undefined;
  readonly maxBody: number;
  readonly headers: HeadersProvider | undefined;
  readonly credentials: "omit" | "same-origin" | "include" | undefined;
}

/** The options of an Sdk, resolved and validated. */
export interface ResolvedOptions {
  readonly name: string;
  readonly baseUrl: string | undefined;
  readonly owner: () => string | undefined;
  readonly keepFor: number;
  readonly rememberIntents: number;
  readonly concurrency: number;
  readonly store: Store | undefined;
  readonly fetch: typeof globalThis.fetch | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: (entry: LogEntry) => void;
  readonly operations: ReadonlyMap<string, ResolvedOperation>;
  /** Resolves an operation that is not declared: one of another deploy, or of `fetch`. */
  readonly undeclared: (name: string) => ResolvedOperation;
}

const known = new Set([
  ...["name", "baseUrl", "operations", "owner", "keepFor", "rememberIntents", "concurrency", "store", "fetch", "clock"],
  ...["random", "log", "retention", "profile", "retry", "attemptTimeout", "wait", "maxBody", "headers", "credentials"],
]);

const MAX_BODY = 4 * 1024 * 1024;
const DAY = 86_400_000;

/**
 * Turns partial options into one resolved, validated object.
 *
 * @throws MisuseError `bad_option`, naming the option
 */
export function resolveOptions(options: SdkOptions, platform: Platform): ResolvedOptions {
  if (typeof options !== "object" || options === null) bad("createSdk needs an object of options");
  for (const name of Object.keys(options)) {
    if (!known.has(name)) bad(`\`${name}\` is not an option of createSdk; known are ${[...known].sort().join(", ")}`);
  }
  if (typeof options.name !== "string" || !/^[\w.-]{1,64}$/.test(options.name)) {
    bad("`name` names the local store: 1 to 64 of letters, digits, `.`, `_` and `-`");
  }
  if (options.owner !== "single" && typeof options.owner !== "function") {
    bad('`owner` is a function that answers with the present user\'s id, or "single" for a program with one user');
  }
  const operations = new Map<string, ResolvedOperation>();
  for (const [name, definition] of Object.entries(options.operations ?? {})) {
    operations.set(name, resolveOperation(name, definition, options));
  }
  const { owner } = options;
  return Object.freeze({
    name: options.name,
    baseUrl: baseUrl(options.baseUrl),
    owner: owner === "single" ? () => "single" : () => checkOwner(owner()),
    keepFor: duration(options.keepFor, "keepFor", 30 * DAY),
    rememberIntents: duration(options.rememberIntents, "rememberIntents", 365 * DAY),
    concurrency: wholeNumber(options.concurrency, "concurrency", platform.concurrency),
    store: options.store,
    fetch: functionOption(options.fetch, "fetch"),
    clock: options.clock ?? platform.clock,
    random: options.random ?? platform.random,
    log: functionOption(options.log, "log") ?? (() => {}),
    operations,
    undeclared: (name: string) => resolveOperation(name, undefined, options),
  });
}

function resolveOperation(
  name: string,
  definition: AnyDefinition | undefined,
  shared: SharedOptions,
): ResolvedOperation {
  const own: OperationOptions<unknown, unknown, unknown> = definition?.options ?? {};
  const option = (of: string): string => (definition ? `operations.${name}.${of}` : of);
  const profile = own.profile ?? shared.profile;
  const retention = own.retention ?? own.profile?.retention ?? shared.retention ?? shared.profile?.retention;
  if (definition && retention === undefined) {
    bad(
      `\`retention\` is missing for \`${name}\`: how long does the API remember an idempotency key? ` +
        'Its documentation says; pass for instance retention: "24h", or a profile that knows it',
    );
  }
  return Object.freeze({
    name,
    definition,
    options: own,
    rules: {
      json: true,
      conflict: own.conflict ?? "in-progress",
      unprocessable: own.unprocessable ?? "misused",
      override: profile?.read,
    },
    retention: retention === undefined ? undefined : positive(retention, option("retention")),
    header: (profile?.header ?? "idempotency-key").toLowerCase(),
    quoted: profile?.quoted ?? false,
    mint: profile?.key ?? "v7",
    dedupes: profile?.dedupes ?? true,
    keepHeaders: [...(profile?.keepHeaders ?? []), ...(own.keepHeaders ?? [])].map((header) => header.toLowerCase()),
    retry: resolveRetry({ ...shared.retry, ...own.retry }, option("retry")),
    attemptTimeout: positive(own.attemptTimeout ?? shared.attemptTimeout ?? 30_000, option("attemptTimeout")),
    wait: waitOption(own.wait ?? shared.wait, option("wait")),
    maxBody: wholeNumber(own.maxBody ?? shared.maxBody, option("maxBody"), MAX_BODY),
    headers: functionOption(own.headers ?? shared.headers, option("headers")),
    credentials: own.credentials ?? shared.credentials,
  });
}

function resolveRetry(retry: NonNullable<SharedOptions["retry"]>, option: string): RetryPolicy {
  const attempts = retry.attempts ?? defaultRetry.attempts;
  if (typeof attempts !== "number" || !(attempts >= 1))
    bad(`\`${option}.attempts\` is ${attempts}, expected 1 or more`);
  return Object.freeze({
    attempts,
    base: duration(retry.base, `${option}.base`, defaultRetry.base),
    cap: duration(retry.cap, `${option}.cap`, defaultRetry.cap),
    backgroundCap: duration(retry.backgroundCap, `${option}.backgroundCap`, defaultRetry.backgroundCap),
  });
}

/** @internal */
export function waitOption(wait: Duration | undefined, option: string): number | undefined {
  return wait === undefined || wait === Number.POSITIVE_INFINITY ? undefined : toMs(wait, option);
}

/** A bad option, named. */
export function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}

function checkOwner(owner: unknown): string | undefined {
  if (owner === undefined || owner === null) return undefined;
  if (typeof owner === "string" && owner !== "" && owner !== "*") return owner;
  return bad('`owner` answered with something else than a non-empty string (and not "*") or undefined');
}

function baseUrl(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    bad(`\`baseUrl\` is ${JSON.stringify(url)}, expected an absolute http(s) URL`);
  if (parsed.username || parsed.password)
    bad("`baseUrl` holds a user name or password; pass credentials from `headers()`");
  return parsed.href;
}

function duration(value: Duration | undefined, option: string, otherwise: number): number {
  return value === undefined ? otherwise : toMs(value, option);
}

function positive(value: Duration, option: string): number {
  const ms = toMs(value, option);
  return ms > 0 ? ms : bad(`\`${option}\` is 0, expected more`);
}

function wholeNumber(value: number | undefined, option: string, otherwise: number): number {
  if (value === undefined) return otherwise;
  return Number.isSafeInteger(value) && value > 0
    ? value
    : bad(`\`${option}\` is ${value}, expected a whole number above 0`);
}

function functionOption<T>(value: T | undefined, option: string): T | undefined {
  return value === undefined || typeof value === "function" ? value : bad(`\`${option}\` is not a function`);
}
