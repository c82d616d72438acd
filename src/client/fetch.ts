import type { OperationRecord } from "../core/record.js";
import { MisuseError } from "../errors.js";
import { createDraft, type Draft } from "./draft.js";
import { bad, type ResolvedOptions } from "./options.js";
import { headersOf, readError } from "./result.js";
import type { CallOptions, SendOptions } from "./types.js";

/** What `fetch` takes, and what samekey adds to it. */
export type SdkFetchInit = Omit<RequestInit, "body"> & {
  /** Text, bytes, `URLSearchParams`, or a value that is sent as JSON. */
  readonly body?: unknown;
} & Pick<CallOptions, "intent" | "lane" | "owner" | "deadline">;

/** `fetch` whose writes are recorded, keyed, retried and resumable. */
export type SdkFetch = (input: string | URL | Request, init?: SdkFetchInit) => Promise<Response>;

/** What {@link createFetch} is built from. */
export interface FetchParts {
  readonly options: ResolvedOptions;
  readonly baseUrl: () => string | undefined;
  readonly passThrough: typeof globalThis.fetch;
  readonly owner: () => string | undefined;
  readonly drive: (draft: Draft, options: SendOptions) => Promise<OperationRecord>;
}

const WRITES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** Makes the drop-in: writes to `baseUrl`'s origin are operations named `fetch`, everything else passes through. */
export function createFetch(parts: FetchParts): SdkFetch {
  return async (input, init = {}) => {
    const { options, passThrough } = parts;
    const base = parts.baseUrl();
    const request = input instanceof Request ? input : undefined;
    const url = request ? new URL(request.url) : new URL(String(input), base);
    const method = (init.method ?? request?.method ?? "GET").toUpperCase();
    if (base === undefined || url.origin !== new URL(base).origin || !WRITES.has(method)) {
      return passThrough(input as RequestInfo, init as RequestInit);
    }
    if (init.mode === "no-cors") bad('`mode: "no-cors"` strips the idempotency key; use "cors"');
    const headers = new Headers(init.headers ?? request?.headers);
    const operation = options.undeclared("fetch");
    const carried = headers.get(operation.header);
    headers.delete(operation.header);
    const draft = createDraft(await bodyOf(request, init), callOf(init, headers, unquote(carried)), {
      operation,
      baseUrl: base,
      owner: parts.owner,
      now: options.clock.now(),
      random: options.random,
      method,
      url: url.href,
    });
    const signal = init.signal ?? request?.signal ?? undefined;
    return responseOf(await parts.drive(draft, { signal }));
  };
}

function callOf(init: SdkFetchInit, headers: Headers, key: string | undefined): CallOptions {
  const { intent, lane, owner, deadline } = init;
  // With an intent the recorded key replaces the request's: a caller that mints one per call still has one key.
  return { intent, lane, owner, deadline, headers, key: intent === undefined ? key : undefined };
}

async function bodyOf(request: Request | undefined, init: SdkFetchInit): Promise<unknown> {
  if (init.body !== undefined && init.body !== null) return init.body;
  if (!request?.body) return undefined;
  if (request.bodyUsed) throw new MisuseError("body_not_replayable", { detail: "the Request has been used already" });
  return request.arrayBuffer();
}

/** An answer that settled the operation, as a `Response`; everything else is an error. */
async function responseOf(record: OperationRecord): Promise<Response> {
  const { state, response } = record;
  const answered = state === "succeeded" || state === "rejected" || state === "expired";
  if (!answered || !response || response.pruned)
    throw (await readError(record)) ?? new Error(`samekey: no answer (${state})`);
  const empty = [204, 205, 304].includes(response.status) || response.body === undefined;
  return new Response(empty ? null : response.body, { status: response.status, headers: headersOf(response) });
}

function unquote(key: string | null): string | undefined {
  if (key === null) return undefined;
  return /^"(.*)"$/.exec(key)?.[1]?.replace(/\\(.)/g, "$1") ?? key;
}
