import { tagOf } from "../core/body.js";
import type { OperationRecord } from "../core/record.js";
import { createDraft, type Draft } from "./draft.js";
import { isReadLater, readBody } from "./fetch-body.js";
import { readTerms } from "./fetch-init.js";
import { detached, reader, type WriteRequest } from "./fetch-look.js";
import { coversAnswer, type FetchScope, isPromise } from "./fetch-scope.js";
import { FETCH, type ResolvedOptions } from "./options.js";
import { withoutConnection } from "./request-headers.js";
import { headersOf, lackOf, readError, readResult } from "./result.js";
import type { CallOptions, SendOptions } from "./types.js";
import { Unanswered } from "./unanswered.js";

/** What `fetch` takes, and what samekey adds to it. */
export type SdkFetchInit = { readonly [Name in Exclude<keyof RequestInit, "body">]?: RequestInit[Name] | undefined } & {
  /** Whatever `fetch` takes; or a plain object or array, which is sent as JSON. */
  readonly body?: unknown;
} & Pick<CallOptions, "intent" | "lane" | "owner" | "deadline">;

/**
 * `fetch` whose writes to `baseUrl`'s origin are recorded, keyed, retried and resumable. Everything else passes through
 * untouched: reads, event streams, and writes to another origin (the log warns of those once per origin). A relative
 * URL is a path below `baseUrl`, as it is for operations: with `https://api.example.com/v1`, `/t` is `/v1/t`.
 *
 * An answer that settles the operation is a `Response`, a refusal too; a 422 and everything that is no answer rejects.
 *
 * @throws MisuseError, UnknownOutcomeError, PendingError, StoreError, CanceledError, ResultError (as rejections)
 */
export type SdkFetch = (input: string | URL | Request, init?: SdkFetchInit) => Promise<Response>;

/** What {@link createFetch} is built from. */
export interface FetchParts {
  readonly options: ResolvedOptions;
  readonly scope: FetchScope;
  readonly passThrough: typeof globalThis.fetch;
  /** The origin of the page, where there is one. */
  readonly pageOrigin: () => string | undefined;
  readonly digest: (bytes: Uint8Array<ArrayBuffer>) => Promise<string>;
  readonly owner: () => string | undefined;
  readonly get: (id: string) => Promise<OperationRecord | undefined>;
  readonly drive: (draft: Draft, options: SendOptions) => Promise<OperationRecord>;
}

const WRITES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** Makes the drop-in: the writes within its scope are operations named `fetch`, everything else passes through. */
export function createFetch(parts: FetchParts): SdkFetch {
  const { options, scope } = parts;
  const unanswered = new Unanswered({ now: () => options.clock.now(), get: parts.get, digest: parts.digest });
  return async (input, init = {}) => {
    const request = tagOf(input) === "Request" ? (input as Request) : undefined;
    const method = (init.method ?? request?.method ?? "GET").toUpperCase();
    const { url, passed } = scope.locate(request ? request.url : String(input), input);
    const headers = new Headers(init.headers ?? request?.headers);
    // Named after others it is only one of the forms that an answer may have: GraphQL clients list it for all they send.
    const isStream = /^\s*text\/event-stream\b/i.test(headers.get("accept") ?? "");
    const pass = (body = init.body): Promise<Response> =>
      parts.passThrough(passed as RequestInfo, (body === init.body ? init : { ...init, body }) as RequestInit);
    if (!WRITES.has(method) || isStream) return pass();
    // What a library does not know of its caller's options it may have put on the Request.
    const said: SdkFetchInit = { ...(request as object), ...init };
    const { lane, deadline, owner = parts.owner() } = said;
    const operation = options.undeclared(FETCH);
    const signal = (init.signal === undefined ? request?.signal : init.signal) ?? undefined;
    const limits = { maxBody: operation.maxBody, signal, digest: parts.digest };
    const call: WriteRequest = { url, method, headers, body: init.body, text: reader(init.body, request, limits) };

    // What can be frozen within the call is: the caller may change it the moment he has our promise.
    let { body: given } = init;
    const covered = coversAnswer(scope, call, operation.profile?.streamField);
    if (isPromise(covered)) given = detached(given);
    if (!(isPromise(covered) ? await covered : covered)) return pass(given);
    const terms = readTerms(init as RequestInit, request, url.origin === parts.pageOrigin());
    const wanted = said.intent ?? scope.intent(call);
    if (isPromise(wanted)) given = detached(given);
    const intent = isPromise(wanted) ? await wanted : wanted;
    signal?.throwIfAborted();
    withoutConnection(headers);
    const carried = headers.get(operation.header);
    headers.delete(operation.header);
    // With an intent the recorded key replaces the request's: a caller that mints one per call still has one key.
    const key = intent === undefined && carried !== null ? unquote(carried) : undefined;

    given ??= undefined;
    const source = given ?? request;
    const read = isReadLater(source) ? await readBody(source, limits) : undefined;
    // Of a Request it is among the headers, unless others were given; but its boundary may be another now.
    const isNamed = given === undefined ? headers.has("content-type") && !init.headers : !headers.has("content-type");
    if (read?.contentType && isNamed) headers.set("content-type", read.contentType);
    const body = read && given === undefined && read.bytes.byteLength === 0 ? undefined : (read?.bytes ?? given);
    const draft = createDraft(
      body,
      { intent, lane, deadline, headers, key, owner: said.owner },
      {
        operation,
        baseUrl: undefined,
        owner: () => owner,
        now: options.clock.now(),
        random: options.random,
        own: { method, url: url.href, accept: "*/*", ...terms },
      },
    );
    const drive = async (mine: Draft): Promise<Response> => responseOf(await parts.drive(mine, { signal }));
    if (draft.intent !== undefined || draft.key !== undefined) return drive(draft);
    const mine = await unanswered.rejoin(draft, headers);
    return drive(mine).catch(async (error: unknown) => {
      await unanswered.note(mine);
      throw error;
    });
  };
}

/** An answer that settled the operation, as a `Response`; everything else is an error. */
async function responseOf(record: OperationRecord): Promise<Response> {
  const { state, response } = record;
  const isAnswer = state === "succeeded" || state === "rejected" || state === "expired";
  if (!isAnswer || !response || lackOf(response)) {
    // A success without its answer is told as such.
    throw (await readError(record)) ?? (await readResult(record, undefined, "store").catch((error: unknown) => error));
  }
  const isEmpty = [204, 205, 304].includes(response.status) || response.body === undefined;
  const answer = new Response(isEmpty ? null : response.body, {
    status: response.status,
    headers: headersOf(response),
  });
  // A made one has none, and callers tell answers apart by it.
  return Object.defineProperty(answer, "url", { value: record.request.url });
}

/** A key as a structured-field string, or as it is. */
function unquote(key: string): string {
  return /^"(.*)"$/.exec(key)?.[1]?.replace(/\\(.)/g, "$1") ?? key;
}
