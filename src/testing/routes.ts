import type { MockRequest } from "./mock-request.js";

/**
 * Answers a request: with a `Response`, or with data, which becomes 201 with a JSON body (`undefined`: 204).
 * 5xx and 401, 407, 408, 423, 425, 429 are released (nothing is stored), any other 4xx is a refusal without effect,
 * the rest is an effect. Throwing is a 500.
 */
export type MockHandler = (request: MockRequest) => unknown;

/** Options of a route. */
export interface RouteOptions {
  /** Whether the route deduplicates by key. `false` for a sign-in, say. @defaultValue true for all but GET and HEAD */
  readonly keyed?: boolean | undefined;
}

/** A route of a mock server. */
export interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly handler: MockHandler;
  readonly keyed: boolean | undefined;
}

/** A route for a path such as `/payments/:id/refunds`, matched whole. */
export function route(method: string, path: string, handler: MockHandler, options: RouteOptions = {}): Route {
  const pattern = path
    .split("/")
    .map((part) => (part.startsWith(":") ? `(?<${part.slice(1)}>[^/]+)` : escapeRegExp(part)))
    .join("/");
  return { method: method.toUpperCase(), pattern: new RegExp(`^${pattern}/?$`), handler, keyed: options.keyed };
}

/** What stands at the names of the route's path; `undefined` when it does not match. */
export function matchRoute(to: Route, method: string, path: string): Record<string, string> | undefined {
  const match = to.method === method ? to.pattern.exec(path) : null;
  if (!match) return undefined;
  return Object.fromEntries(
    Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
  );
}

/** The text as a pattern that matches it. */
export function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** What a handler gave, as a response. */
export function responseOf(result: unknown): Response {
  if (result instanceof Response) return result;
  return result === undefined ? new Response(null, { status: 204 }) : Response.json(result, { status: 201 });
}
