import { bad } from "./checks.js";
import { joinUrl } from "./draft.js";
import { asksForStream, type WriteRequest } from "./fetch-look.js";
import { FETCH, type ResolvedOptions } from "./options.js";

/** Which writes are whose business. */
export interface FetchScope {
  /** Where a request goes, and what to call the platform's `fetch` with if it is passed through. */
  locate(written: string, input: unknown): { readonly url: URL; readonly passed: unknown };
  covers(call: WriteRequest): boolean | Promise<boolean>;
  intent(call: WriteRequest): ReturnType<IntentOf>;
}

/** The writes to `baseUrl`'s origin. */
export function originScope(baseUrl: () => string | undefined, { log }: Pick<ResolvedOptions, "log">): FetchScope {
  const warned = new Set<string>();
  return {
    locate(written, input) {
      const base = baseUrl();
      const url = new URL(/^([a-z][a-z\d+.-]*:|\/\/)/i.test(written) ? written : joinUrl(base, written, FETCH), base);
      return { url, passed: typeof input === "string" ? url.href : input };
    },
    covers({ url: { origin } }) {
      const base = baseUrl();
      if (base !== undefined && origin === new URL(base).origin) return true;
      if (!warned.has(origin)) {
        warned.add(origin);
        log({ level: "warn", message: `writes to ${origin} pass through: it is not baseUrl's`, name: FETCH });
      }
      return false;
    },
    intent: () => undefined,
  };
}

/** Which writes, as {@link WrapFetchOptions.only} says it. */
export type Only = string | readonly string[] | ((request: WriteRequest) => boolean | Promise<boolean>);

/** The intent of a write, as {@link WrapFetchOptions.intent} tells it. */
export type IntentOf = (request: WriteRequest) => string | undefined | Promise<string | undefined>;

/** The writes that `only` names; all of them to `baseUrl`'s origin, if there is one, where it says nothing. */
export function chosenScope(
  only: Only | undefined,
  intent: IntentOf | undefined,
  baseUrl: string | undefined,
): FetchScope {
  const covers = typeof only === "function" ? asking(only) : matching(only ?? baseUrl, baseUrl);
  return {
    // The platform's own reading, its error included: a relative URL is the page's.
    locate: (written, input) => ({ url: new URL(new Request(written).url), passed: input }),
    covers,
    intent: (call) => intent?.(call),
  };
}

function asking(only: Extract<Only, (...given: never) => unknown>): FetchScope["covers"] {
  const check = (answer: unknown): boolean =>
    typeof answer === "boolean" ? answer : bad("`only` answered neither true nor false");
  return (call) => {
    const answer = only(call);
    return isPromise(answer) ? answer.then(check) : check(answer);
  };
}

/** Of another realm or maker too. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/**
 * Whether a write is to be recorded: not one whose answer is an event stream, which is read as it comes.
 *
 * @param streamField - the member of the body that asks for one
 */
export function coversAnswer(
  scope: FetchScope,
  call: WriteRequest,
  streamField: string | undefined,
): boolean | Promise<boolean> {
  const covered = scope.covers(call);
  if (streamField === undefined || covered === false) return covered;
  return (async () => (await covered) && !(await asksForStream(call, streamField)))();
}

function matching(only: string | readonly string[] | undefined, baseUrl: string | undefined): FetchScope["covers"] {
  if (only === undefined) return () => true;
  const places = [only].flat().map((place) => {
    const given = joinUrl(baseUrl, String(place), "only");
    return URL.canParse(given) ? new URL(given) : bad(`\`only\` holds ${JSON.stringify(given)}, which is no URL`);
  });
  if (places.length === 0) bad("`only` is an empty list");
  return ({ url }) => places.some((place) => place.origin === url.origin && isBelow(url.pathname, place.pathname));
}

function isBelow(path: string, place: string): boolean {
  return `${path}/`.startsWith(place.replace(/\/?$/, "/"));
}
