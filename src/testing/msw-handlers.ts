import type { Exchanger } from "./plain-fetch.js";
import { escapeRegExp } from "./routes.js";

/** The part of msw's `http` that is used. */
export interface MswHttp<Handler> {
  all(predicate: RegExp, resolver: (info: { request: Request }) => Promise<Response>): Handler;
}

/** Handlers that hand everything below `baseUrl` to `exchange`. */
export function createMswHandlers<Handler>(baseUrl: string, http: MswHttp<Handler>, exchange: Exchanger): Handler[] {
  const below = new RegExp(`^${escapeRegExp(baseUrl)}(?:[/?].*)?$`);
  return [http.all(below, ({ request }) => exchange(request, request.signal).catch(asResponse))];
}

/** msw makes a 500 of what is thrown, but a network error of `Response.error()`, which becomes the error's cause. */
function asResponse(error: unknown): Response {
  const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
  return Object.assign(Response.error(), cause?.code && { code: cause.code });
}
