import type { ApiReader } from "../core/profile.js";
import type { OperationRecord } from "../core/record.js";
import { headersFor } from "./headers.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";
import type { Owners } from "./owners.js";
import { placeAt } from "./place.js";
import { letGo, readResponse } from "./read-bounded.js";

/** What reading is done with. */
export interface ReaderParts {
  readonly options: ResolvedOptions;
  readonly owners: Owners;
  readonly fetch: typeof globalThis.fetch;
  readonly baseOrigin: () => string | undefined;
}

/** Reads from the API of a record, as its owner and with his credentials. */
export function readerOf(record: OperationRecord, operation: ResolvedOperation, parts: ReaderParts): ApiReader {
  const { options, owners, fetch } = parts;
  const get = async (place: string): Promise<Response> => {
    const url = placeAt(record, place);
    if (url === undefined)
      throw new Error(`samekey: only ${record.origin} is read from, without user name or password`);
    const { signal, disarm } = timeLimit(options, operation.attemptTimeout);
    try {
      const asking = { operation, baseOrigin: parts.baseOrigin(), url, signal };
      const headers = await headersFor(record, asking);
      if (!headers || !owners.mayAct(record.owner)) throw new Error("samekey: there are no credentials to read with");
      headers.delete("content-type");
      const { credentials } = record.request;
      const init: RequestInit = { headers, redirect: "manual", signal, ...(credentials && { credentials }) };
      const response = await fetch(url, init);
      // To its last byte within the time.
      const body = await readResponse(response.clone(), operation.maxResponse, () => signal.throwIfAborted());
      if (body) return response;
      letGo(response);
      throw new Error(`samekey: it has more bytes than \`maxResponse\` allows (${operation.maxResponse})`);
    } finally {
      disarm();
    }
  };
  return Object.freeze({ get });
}

function timeLimit({ clock }: ResolvedOptions, ms: number): { signal: AbortSignal; disarm: () => void } {
  const [late, done] = [new AbortController(), new AbortController()];
  const abort = (): void => late.abort(new DOMException(`no whole answer within ${ms} ms`, "TimeoutError"));
  clock.sleep(ms, done.signal, true).then(abort, () => {});
  return { signal: late.signal, disarm: () => done.abort() };
}
