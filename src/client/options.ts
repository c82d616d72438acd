import { defaultRetry, type RetryPolicy } from "../core/backoff.js";
import type { AnswerRules } from "../core/classify.js";
import { type Duration, toMs } from "../core/durations.js";
import { checkProfile, type Profile, placeOf, type Terms, termsOf } from "../core/profile.js";
import type { Random } from "../core/random.js";
import type { Wire } from "../core/record.js";
import type { Clock, Seal, Store } from "../store.js";
import {
  bad,
  checkDefinition,
  checkOptions,
  checkOwner,
  duration,
  functionOption,
  headerNames,
  objectWith,
  oneOf,
  positive,
  waitOption,
  wholeNumber,
} from "./checks.js";
import type { Platform } from "./platform-port.js";
import { ofOneName } from "./store-uses.js";
import type { Telemetry } from "./telemetry.js";
import type {
  AnyDefinition,
  HeadersProvider,
  LogEntry,
  OperationOptions,
  RetryOptions,
  SdkOptions,
  SharedOptions,
} from "./types.js";

/** The name of the operations that `sdk.fetch` makes. */
export const FETCH = "fetch";

/** What holds at one endpoint, lengths of time in milliseconds. */
export interface ResolvedTerms extends Terms {
  readonly retention: number | undefined;
  readonly gap: number | undefined;
}

/** Everything about one operation, resolved and validated. */
export interface ResolvedOperation {
  readonly name: string;
  /** Absent for operations that this deploy does not declare, and for those of `fetch`. */
  readonly definition: AnyDefinition | undefined;
  /** Whether its hooks, if it has any, are known here. */
  readonly declared: boolean;
  /** Whether someone is to be told of an outcome: here, or (undeclared) in another deploy. */
  readonly hooked: boolean;
  readonly options: OperationOptions<unknown, unknown, unknown>;
  readonly rules: AnswerRules;
  /** What holds unless a profile knows better of the endpoint; `undefined` where nobody says. */
  readonly retention: number | undefined;
  /** What holds at one endpoint. */
  readonly terms: (method: string, url: string) => ResolvedTerms;
  readonly profile: Profile | undefined;
  readonly place: Pick<Wire, "place" | "name">;
  /** The header (lower case) that a key is known by, also where it travels in another place. */
  readonly header: string;
  readonly quoted: boolean;
  readonly mint: "v7" | "v4";
  /** Lower case, as the next one. */
  readonly keepHeaders: readonly string[];
  readonly ignoreHeaders: readonly string[];
  readonly retry: RetryPolicy;
  readonly attemptTimeout: number;
  /** `undefined`: for as long as it takes. */
  readonly wait: number | undefined;
  readonly maxBody: number;
  readonly maxResponse: number;
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
  readonly maxPending: number;
  readonly concurrency: number;
  readonly discover: boolean;
  readonly store: Store | undefined;
  readonly seal: Seal | undefined;
  readonly fetch: typeof globalThis.fetch | undefined;
  /** It is not the platform's own: a library's, which may send more than once, or a wrapper around the platform's. */
  readonly hasCustomFetch: boolean;
  readonly clock: Clock;
  /** The program has brought the clock, and goes by it in all. */
  readonly hasOwnClock: boolean;
  readonly random: Random;
  readonly log: (entry: LogEntry) => void;
  readonly telemetry: readonly Telemetry[];
  readonly operations: ReadonlyMap<string, ResolvedOperation>;
  /** Resolves an operation that is not declared: one of another deploy, or of `fetch`. */
  readonly undeclared: (name: string) => ResolvedOperation;
}

/** Names of the options that hold for all operations and may be said again for one. */
export const shared = "retention profile retry attemptTimeout wait maxBody maxResponse headers credentials";
const own =
  "body result error intent key keepHeaders ignoreHeaders onIntentMismatch conflict unprocessable settled reconcile";
export const ofSdk =
  "name baseUrl operations owner discover keepFor rememberIntents maxPending concurrency store seal fetch clock random log telemetry";

const MAX_BODY = 4 * 1024 * 1024;
const MAX_RESPONSE = 16 * 1024 * 1024;
/** The codes of a refusal are read in so many bytes: an operation whose refusals nobody reads would be misjudged. */
const LEAST_RESPONSE = 65_536;
const DAY = 86_400_000;

/**
 * Turns partial options into one resolved, validated object.
 *
 * @param ofFetch - options of the operations that `fetch` makes
 * @throws MisuseError `bad_option`, naming the option
 */
export function resolveOptions(
  options: SdkOptions,
  platform: Platform,
  ofFetch: OperationOptions<unknown, unknown, unknown> = {},
): ResolvedOptions {
  checkOptions(options, `${ofSdk} ${shared}`, "createSdk");
  const { name, owner, operations: declared = {}, discover = false } = options;
  if (typeof name !== "string" || !/^[\w.-]{1,64}$/.test(name)) {
    bad("`name` names the local store: 1 to 64 of letters, digits, `.`, `_` and `-`");
  }
  if (owner !== "single" && typeof owner !== "function") {
    bad('`owner` is a function that answers with the present user\'s id, or "single" for a program with one user');
  }
  if (typeof discover !== "boolean") bad("`discover` is not true or false");
  if (typeof declared !== "object") bad("`operations` is no object of operations");
  if (FETCH in declared) bad("`operations.fetch` is taken: it names what `sdk.fetch` sends; use another name");
  const undeclared = resolveOperation("undeclared", undefined, options, ofFetch);
  const entries = Object.entries(declared).map(
    ([of, definition]) => [of, resolveOperation(of, checkDefinition(definition, of), options)] as const,
  );
  const store = objectWith(
    options.store,
    "store",
    "open insert claim update get find head page prunable counts relieve close",
  );
  if (store) ofOneName(store, name);
  return Object.freeze({
    name,
    baseUrl: baseUrl(options.baseUrl),
    owner: owner === "single" ? () => "single" : () => checkOwner(owner()),
    keepFor: duration(options.keepFor, "keepFor", 30 * DAY),
    rememberIntents: duration(options.rememberIntents, "rememberIntents", 365 * DAY),
    maxPending: wholeNumber(options.maxPending, "maxPending", Number.POSITIVE_INFINITY),
    concurrency: wholeNumber(options.concurrency, "concurrency", platform.concurrency),
    discover,
    store,
    seal: objectWith(options.seal, "seal", "over"),
    fetch: functionOption(options.fetch, "fetch"),
    hasCustomFetch: options.fetch !== undefined && options.fetch !== globalThis.fetch,
    clock: objectWith(options.clock, "clock", "now sleep") ?? store?.clock?.(platform.clock) ?? platform.clock,
    hasOwnClock: options.clock !== undefined,
    random: functionOption(options.random, "random") ?? platform.random,
    log: quiet(functionOption(options.log, "log")),
    telemetry: telemetry(options.telemetry),
    operations: new Map(entries),
    undeclared: (of: string) => ({
      ...undeclared,
      name: of,
      declared: of === FETCH,
      hooked: of !== FETCH || undeclared.hooked,
    }),
  });
}

function resolveOperation(
  name: string,
  definition: AnyDefinition | undefined,
  common: SharedOptions,
  mine: OperationOptions<unknown, unknown, unknown> = definition?.options ?? {},
): ResolvedOperation {
  const option = (of: string): string => (definition ? `operations.${name}.${of}` : of);
  checkOptions(mine, `${own} ${shared}`, `\`operations.${name}\``);
  for (const schema of ["body", "result", "error"] as const) objectWith(mine[schema], option(schema), "~standard");
  const profile = checkProfile(mine.profile ?? common.profile, option("profile"));
  // What is said of one operation goes before what is said of all, and what is said here before a profile.
  const said = mine.retention ?? (mine.profile ? undefined : common.retention);
  if (said !== undefined) positive(said, option("retention"));
  const retention = ms(said ?? profile?.retention ?? common.retention) ?? shortest(profile);
  if (definition && retention === undefined) {
    bad(
      `\`retention\` is missing for \`${name}\`: how long does the API remember an idempotency key? ` +
        'Its documentation says; pass for instance retention: "24h", or a profile that knows it',
    );
  }
  // Read once: a text costs more to read than all else that is asked of an endpoint.
  const [saidHere, saidOfAll] = [ms(said), ms(common.retention)];
  const place = placeOf(profile);
  oneOf(mine.intent, option("intent"), "required optional");
  oneOf(mine.key, option("key"), "minted from-intent");
  oneOf(mine.onIntentMismatch, option("onIntentMismatch"), "throw keep-first");
  const settled = functionOption(mine.settled, option("settled"));
  const reconcile = functionOption(mine.reconcile, option("reconcile"));
  return Object.freeze({
    name,
    definition,
    declared: definition !== undefined,
    hooked: definition === undefined || Boolean(settled ?? reconcile ?? profile?.reconcile),
    options: mine,
    rules: {
      json: true,
      conflict: oneOf(mine.conflict, option("conflict"), "in-progress rejected") ?? "in-progress",
      unprocessable: oneOf(mine.unprocessable, option("unprocessable"), "misused rejected") ?? "misused",
      replayHeaders: profile?.replayHeaders,
    },
    profile,
    retention,
    terms: (method: string, url: string) => {
      const there = termsOf(profile, method, url);
      const retention = saidHere ?? ms(there.retention) ?? saidOfAll ?? (there.dedupes ? undefined : DAY);
      return { dedupes: there.dedupes, keyLength: there.keyLength, retention, gap: ms(there.gap) };
    },
    place,
    header: place.place === "header" ? place.name : "idempotency-key",
    quoted: profile?.quoted ?? false,
    mint: profile?.key ?? "v7",
    keepHeaders: [
      ...headerNames(profile?.keepHeaders, "profile.keepHeaders"),
      ...headerNames(mine.keepHeaders, option("keepHeaders")),
    ],
    ignoreHeaders: [
      ...headerNames(profile?.ignoreHeaders, "profile.ignoreHeaders"),
      ...headerNames(mine.ignoreHeaders, option("ignoreHeaders")),
    ],
    retry: resolveRetry([common.retry, mine.retry], option("retry")),
    attemptTimeout: positive(
      mine.attemptTimeout ?? common.attemptTimeout ?? profile?.attemptTimeout ?? 30_000,
      option("attemptTimeout"),
    ),
    wait: waitOption(mine.wait ?? common.wait, option("wait")),
    maxBody: wholeNumber(mine.maxBody ?? common.maxBody, option("maxBody"), MAX_BODY),
    maxResponse: leastOf(mine.maxResponse ?? common.maxResponse, option("maxResponse")),
    headers: functionOption(mine.headers ?? common.headers, option("headers")),
    credentials: oneOf(mine.credentials ?? common.credentials, option("credentials"), "omit same-origin include"),
  });
}

/** What a profile knows at least: of one of its endpoints, or that nothing is remembered and no length matters. */
function shortest(profile: Profile | undefined): number | undefined {
  const { routes = [], dedupes } = profile ?? {};
  const known = routes.flatMap((route) => ms(route.retention) ?? []);
  if (known.length > 0) return Math.min(...known);
  return dedupes === false && !routes.some((route) => route.dedupes) ? DAY : undefined;
}

const ms = (length: Duration | undefined): number | undefined =>
  length === undefined ? undefined : toMs(length, "retention");

function leastOf(bytes: number | undefined, option: string): number {
  const most = wholeNumber(bytes, option, MAX_RESPONSE);
  return most >= LEAST_RESPONSE ? most : bad(`\`${option}\` is ${most}, expected at least ${LEAST_RESPONSE}`);
}

function telemetry(given: SdkOptions["telemetry"] = []): readonly Telemetry[] {
  const all = [given].flat();
  for (const one of all) objectWith(one, "telemetry", "join");
  return all;
}

/** A log that fails must not stop what it tells of. */
function quiet(log: SdkOptions["log"]): ResolvedOptions["log"] {
  return (entry) => {
    try {
      log?.(entry);
    } catch {
      // There is nobody left to tell.
    }
  };
}

function resolveRetry(given: readonly (RetryOptions | undefined)[], option: string): RetryPolicy {
  for (const some of given) checkOptions(some ?? {}, "attempts base cap backgroundCap", `\`${option}\``);
  const retry: RetryOptions = Object.assign({}, ...given);
  const { attempts = defaultRetry.attempts } = retry;
  if (typeof attempts !== "number" || !(attempts >= 1))
    bad(`\`${option}.attempts\` is ${attempts}, expected 1 or more`);
  return Object.freeze({
    attempts,
    base: duration(retry.base, `${option}.base`, defaultRetry.base),
    cap: duration(retry.cap, `${option}.cap`, defaultRetry.cap),
    backgroundCap: duration(retry.backgroundCap, `${option}.backgroundCap`, defaultRetry.backgroundCap),
  });
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
