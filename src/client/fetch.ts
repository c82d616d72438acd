import type { OperationRecord } from "../core/record.js";
import { MisuseError } from "../errors.js";
import { bad } from "./checks.js";
import { createDraft, type Draft, joinUrl } from "./draft.js";
import { FETCH, type ResolvedOptions } from "./options.js";
import { headersOf, readError, readResult } from "./result.js";
import type { CallOptions, SendOptions } from "./types.js";

/** What `fetch` takes, and what samekey adds to it. */
export type SdkFetchInit = Omit<RequestInit, "body"> & {
  /** Text, bytes, `URLSearchParams`, or a value that is sent as JSON. */
  readonly body?: unknown;
} & Pick<CallOptions, "intent" | "lane" | "owner" | "deadline">;

/**
 * `fetch` whose writes to `baseUrl`'s origin are recorded, keyed, retried and resumable. Everything else passes through
 * untouched: reads, event streams, and writes to another origin (the log warns of those once per origin). A relative
 * URL is a path below `baseUrl`, as it is for operations: with `https://api.example.com/v1`, `/t` is `/v1/t`.
 */
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
  const warned = new Set<string>();
  return async (input, init = {}) => {
    const { options, passThrough } = parts;
    const base = parts.baseUrl();
    const request = input instanceof Request ? input : undefined;
    const written = request ? request.url : String(input);
    const url = new URL(/^([a-z][a-z\d+.-]*:|\/\/)/i.test(written) ? written : joinUrl(base, written, FETCH), base);
    const method = (init.method ?? request?.method ?? "GET").toUpperCase();
    const headers = new Headers(init.headers ?? request?.headers);
    const isStream = /\btext\/event-stream\b/i.test(headers.get("accept") ?? "");
    const isElsewhere = base === undefined || url.origin !== new URL(base).origin;
    const isRead = !WRITES.has(method) || isStream;
    if (isElsewhere || isRead) {
      if (!isRead && !warned.has(url.origin)) {
        warned.add(url.origin);
        const message = `writes to ${url.origin} pass through: it is not baseUrl's`;
        options.log({ level: "warn", message, name: FETCH });
      }
      return passThrough((typeof input === "string" ? url.href : input) as RequestInfo, init as RequestInit);
    }
    if ((init.mode ?? request?.mode) === "no-cors") bad('`mode: "no-cors"` strips the idempotency key; use "cors"');
    const { intent, lane, deadline, owner = parts.owner(), signal = request?.signal } = init;
    const operation = options.undeclared(FETCH);
    const carried = headers.get(operation.header);
    headers.delete(operation.header);
    // With an intent the recorded key replaces the request's: a caller that mints one per call still has one key.
    const key = intent === undefined && carried !== null ? unquote(carried) : undefined;
    const draft = createDraft(
      await bodyOf(request, init),
      { intent, lane, deadline, headers, key, owner: init.owner },
      {
        operation,
        baseUrl: base,
        owner: () => owner,
        now: options.clock.now(),
        random: options.random,
        method,
        url: url.href,
      },
    );
    return responseOf(await parts.drive(draft, { signal: signal ?? undefined }));
  };
}

async function bodyOf(request: Request | undefined, init: SdkFetchInit): Promise<unknown> {
  if (init.body !== undefined && init.body !== null) return init.body;
  if (!request) return undefined;
  if (request.bodyUsed) throw new MisuseError("body_not_replayable", { detail: "the Request has been used already" });
  // Not every browser has `request.body` to tell whether there is one.
  const bytes = await request.arrayBuffer();
  return bytes.byteLength > 0 ? bytes : undefined;
}

/** An answer that settled the operation, as a `Response`; everything else is an error. */
async function responseOf(record: OperationRecord): Promise<Response> {
  const { state, response } = record;
  const isAnswer = state === "succeeded" || state === "rejected" || state === "expired";
  if (!isAnswer || !response || response.pruned) {
    // A success without its answer is told as such.
    throw (await readError(record)) ?? (await readResult(record, undefined, "store").catch((error: unknown) => error));
  }
  const isEmpty = [204, 205].includes(response.status) || response.body === undefined;
  return new Response(isEmpty ? null : response.body, { status: response.status, headers: headersOf(response) });
}

function unquote(key: string): string {
  return /^"(.*)"$/.exec(key)?.[1]?.replace(/\\(.)/g, "$1") ?? key;
}
