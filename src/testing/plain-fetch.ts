import { networkError } from "./broken.js";

/** Carries one request to the server and the response back. */
export type Exchanger = (request: Request, signal: AbortSignal) => Promise<Response>;

/** The requests that fetch would follow redirects with, at most. */
const MAX_REDIRECTS = 20;

/** The server as a fetch function, with fetch's manners: aborts, redirects, errors. */
export function plainFetch(baseUrl: string, exchange: Exchanger): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input instanceof Request ? input : new URL(input, `${baseUrl}/`), init);
    // Not the request's own: that one hangs on to the caller's by a weak reference.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined) ?? request.signal;
    return follow(request, signal, MAX_REDIRECTS);
  };

  async function follow(request: Request, signal: AbortSignal, left: number): Promise<Response> {
    signal.throwIfAborted();
    if (!isBelow(baseUrl, request.url)) return elsewhere(request.url);
    const again = request.clone();
    const response = await abortable(exchange(request, signal), signal);
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null || request.redirect === "manual") return response;
    if (request.redirect === "error" || left === 0) throw networkError();
    const url = new URL(location, request.url);
    const kept = response.status === 307 || response.status === 308;
    return follow(kept ? new Request(url, again) : new Request(url, { headers: again.headers }), signal, left - 1);
  }
}

/** Whether a URL is the server's. */
function isBelow(baseUrl: string, url: string): boolean {
  return url === baseUrl || url.startsWith(`${baseUrl}/`) || url.startsWith(`${baseUrl}?`);
}

function elsewhere(url: string): Response {
  return Response.json({ error: "misdirected", detail: `the mock server does not serve ${url}` }, { status: 421 });
}

/** The client stops waiting at once; what it asked for goes on. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
