import { bad, checkOptions, functionOption, headerNames, oneOf, positive, wholeNumber } from "./checks.js";
import type { Answer, Verdict } from "./classify.js";
import type { Duration } from "./durations.js";
import type { OperationRecord, Wire } from "./record.js";

/** What a profile may say of some of an API's endpoints in another way. */
export interface ProfileTerms {
  /** How long the API remembers a key. */
  readonly retention?: Duration | undefined;
  /** The methods under which it heeds a key; under others it does not deduplicate. @defaultValue all */
  readonly methods?: readonly string[] | undefined;
  /** `false` for an API that does not deduplicate: retried only while provably unsent. @defaultValue true */
  readonly dedupes?: boolean | undefined;
  /** The most characters of a key. @defaultValue 255 */
  readonly keyLength?: number | undefined;
  /** The least time between an attempt that got no final answer and the next one. @defaultValue none */
  readonly gap?: Duration | undefined;
}

/** The terms of those endpoints whose path fits. */
export interface ProfileRoute extends ProfileTerms {
  /** Tested against the path of the URL. */
  readonly path: RegExp;
}

/** The request that an {@link Answer} answers. */
export interface ProfileRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  /** An earlier attempt may have been applied. */
  readonly uncertain: boolean;
  /** When the answer was read, in milliseconds since the Unix epoch. */
  readonly now: number;
}

/** What a look at the API found out about an operation. */
export type Finding = "applied" | "not-applied" | "unknown";

/** Reads from the API of an operation. */
export interface ApiReader {
  /**
   * `GET`, at the operation's origin, as its owner and with fresh credentials; the whole answer within `attemptTimeout`.
   * Redirects are not followed. Rejects where there are no credentials, or no answer.
   */
  get(url: string): Promise<Response>;
}

/** The contract of a real API, as far as it differs from the default. */
export interface Profile extends ProfileTerms {
  readonly name: string;
  /** The header that carries the key; `null` for an API that takes none. @defaultValue `idempotency-key` */
  readonly header?: string | null | undefined;
  /** The member of the JSON body that carries the key, instead of a header. */
  readonly bodyField?: string | undefined;
  /** The query parameter that carries the key, instead of a header. Redirects are not followed then. */
  readonly queryParameter?: string | undefined;
  /** Sends the key as a quoted structured-field string. @defaultValue false */
  readonly quoted?: boolean | undefined;
  /** The UUID version that the API wants. @defaultValue `v7` */
  readonly key?: "v7" | "v4" | undefined;
  /** What a key looks like: a caller's own has to fit, too. @defaultValue any visible ASCII */
  readonly keyFormat?: RegExp | undefined;
  /** A header that tells, as an HTTP-date, when the key was first sent; the same on every attempt. */
  readonly firstSentHeader?: string | undefined;
  /** Endpoints with terms of their own; the first that fits counts. */
  readonly routes?: readonly ProfileRoute[] | undefined;
  /** Headers that carry meaning and no secret, kept with the record. */
  readonly keepHeaders?: readonly string[] | undefined;
  /** Headers that carry no meaning: an attempt after a restart does without them; one may end in `*`. */
  readonly ignoreHeaders?: readonly string[] | undefined;
  /**
   * The member of a body, JSON or a form, that asks for an event stream when it is `true`: such a call of `fetch` passes
   * through.
   */
  readonly streamField?: string | undefined;
  /** How long an attempt may take, where nobody says otherwise. @defaultValue 30 s */
  readonly attemptTimeout?: Duration | undefined;
  /** Headers of an answer that say, unless they are empty or false, that it is a replay: it speaks for the key then. */
  readonly replayHeaders?: readonly string[] | undefined;
  /** Reads an answer that this API means differently; `undefined` leaves it to the default table. */
  readonly read?: ((answer: Answer, request: ProfileRequest) => Verdict | undefined) | undefined;
  /**
   * Where an answer says "already created", the URL of what was created, of the same origin. It is read with GET in the
   * same attempt, and what it holds is the result. Where there is nothing to read, the answer itself goes to `read`.
   */
  readonly lookUp?: ((answer: Answer, request: ProfileRequest) => string | undefined) | undefined;
  /**
   * Asks the API whether an operation of unknown outcome was applied, where the operation has no `reconcile` of its own.
   * `not-applied` frees the intent, so say it only where the API cannot still be about to apply it.
   */
  readonly reconcile?: ((record: OperationRecord, api: ApiReader) => Finding | PromiseLike<Finding>) | undefined;
}

/** The terms of one endpoint. */
export interface Terms {
  readonly retention: Duration | undefined;
  readonly dedupes: boolean;
  readonly keyLength: number | undefined;
  readonly gap: Duration | undefined;
}

/** What a profile says of one request. */
export function termsOf(profile: Profile | undefined, method: string, url: string): Terms {
  // `search` takes no notice of a pattern's `lastIndex`. URLs are read only where there are routes: it costs.
  const route = profile?.routes?.find(({ path }) => new URL(url).pathname.search(path) >= 0);
  const methods = route?.methods ?? profile?.methods;
  return {
    retention: route?.retention ?? profile?.retention,
    dedupes: (route?.dedupes ?? profile?.dedupes ?? true) && (methods?.includes(method) ?? true),
    keyLength: route?.keyLength ?? profile?.keyLength,
    gap: route?.gap ?? profile?.gap,
  };
}

/** The name of a profile without which an answer, or an unknown outcome, would be taken for something else. */
export function readerNameOf(profile: Profile | undefined): string | undefined {
  return (profile?.read ?? profile?.lookUp ?? profile?.reconcile ?? profile?.replayHeaders) && profile?.name;
}

/** Where the key of a profile travels. */
export function placeOf(profile: Profile | undefined): Pick<Wire, "place" | "name"> {
  if (profile?.bodyField !== undefined) return { place: "body", name: profile.bodyField };
  if (profile?.queryParameter !== undefined) return { place: "query", name: profile.queryParameter };
  if (profile?.header === null) return { place: "none", name: "" };
  return { place: "header", name: (profile?.header ?? "idempotency-key").toLowerCase() };
}

const terms = "retention methods dedupes keyLength gap";
const known = `name header bodyField queryParameter quoted key keyFormat firstSentHeader streamField attemptTimeout routes keepHeaders ignoreHeaders replayHeaders read lookUp reconcile ${terms}`;

/**
 * The contract of an API, checked as far as it is given.
 *
 * @throws MisuseError `bad_option`, naming the field
 */
export function checkProfile<P extends Profile | undefined>(profile: P, option: string): P {
  if (profile === undefined) return profile;
  checkOptions(profile, known, `\`${option}\``);
  const { header, firstSentHeader, keyFormat, routes = [] } = profile;
  oneOf(profile.key, `${option}.key`, "v7 v4");
  functionOption(profile.read, `${option}.read`);
  functionOption(profile.lookUp, `${option}.lookUp`);
  functionOption(profile.reconcile, `${option}.reconcile`);
  for (const field of ["keepHeaders", "ignoreHeaders", "replayHeaders"] as const)
    headerNames(profile[field], `${option}.${field}`);
  if (typeof header === "string") headerNames([header], `${option}.header`);
  else if (header !== null && header !== undefined) bad(`\`${option}.header\` is no header's name`);
  if (firstSentHeader !== undefined) headerNames([firstSentHeader], `${option}.firstSentHeader`);
  const places = (["header", "bodyField", "queryParameter"] as const).filter((place) => profile[place] !== undefined);
  if (places.length > 1) bad(`\`${option}\` has both \`${places.join("` and `")}\`: a key travels in one place`);
  if (profile.attemptTimeout !== undefined) positive(profile.attemptTimeout, `${option}.attemptTimeout`);
  for (const place of ["bodyField", "queryParameter", "streamField"] as const) {
    const name = profile[place];
    if (name !== undefined && (typeof name !== "string" || name === "")) bad(`\`${option}.${place}\` is no name`);
  }
  if (typeof (profile.quoted ?? true) !== "boolean") bad(`\`${option}.quoted\` is neither true nor false`);
  if (profile.quoted && (places[0] ?? "header") !== "header") bad(`\`${option}.quoted\` is for headers`);
  if (keyFormat !== undefined && !(keyFormat instanceof RegExp)) bad(`\`${option}.keyFormat\` is no RegExp`);
  checkTerms(profile, option);
  if (!Array.isArray(routes)) bad(`\`${option}.routes\` is no list`);
  for (const [index, route] of routes.entries()) {
    const at = `${option}.routes[${index}]`;
    checkOptions(route, `path ${terms}`, `\`${at}\``);
    if (!(route.path instanceof RegExp)) bad(`\`${at}.path\` is no RegExp`);
    checkTerms(route, at);
  }
  return profile;
}

function checkTerms({ retention, methods, dedupes = true, keyLength, gap }: ProfileTerms, option: string): void {
  if (retention !== undefined) positive(retention, `${option}.retention`);
  if (gap !== undefined) positive(gap, `${option}.gap`);
  wholeNumber(keyLength, `${option}.keyLength`, 1);
  if (typeof dedupes !== "boolean") bad(`\`${option}.dedupes\` is neither true nor false`);
  if (methods !== undefined && !Array.isArray(methods)) bad(`\`${option}.methods\` is no list`);
  for (const method of methods ?? []) oneOf(method, `${option}.methods`, "POST PUT PATCH DELETE");
}
