import { Buffer } from "node:buffer";
import { MisuseError } from "../errors.js";
import type { HeaderPair, Outcome } from "./answer.js";
import { contractAnswer } from "./contract.js";
import { fingerprint } from "./fingerprint.js";
import type { Execution } from "./handler.js";
import type { Idempotency } from "./idempotency.js";
import { problem } from "./problem.js";
import { type RouteOptions, resolveRouteOptions } from "./route-options.js";

/** Options of {@link idempotentFetch}. */
export interface WebOptions<Tx = unknown, Args extends unknown[] = []> extends RouteOptions<Tx> {
  /** The kind of operation, an explicit constant. */
  readonly scope: string;
  /**
   * The account that this request acts for, as in `createIdempotency`, where it is known from what the framework passes
   * along.
   *
   * @defaultValue the engine's `tenant`
   */
  readonly tenant?:
    | ((request: Request, ...args: Args) => string | null | undefined | Promise<string | null | undefined>)
    | undefined;
}

/** A handler of Web standard requests, with the transaction it runs in, and what else the framework passes. */
export type WebHandler<Tx, Args extends unknown[] = []> = (
  request: Request,
  execution: Execution<Tx>,
  ...args: Args
) => Promise<Response> | Response;

/**
 * Wraps a `Request → Response` handler (Hono, Next.js, Deno, Bun). Authenticate before, or in the `tenant` option; no
 * middleware may read or replace the body before.
 *
 * ```ts
 * export const POST = idempotentFetch(idempotency, { scope: "transfers" }, async (request, { tx }) => {
 *   const transfer = await request.json();
 *   …
 *   return Response.json(receipt, { status: 201 });
 * });
 * ```
 *
 * @throws what the handler throws, after everything was rolled back
 */
export function idempotentFetch<Tx, Args extends unknown[] = []>(
  idempotency: Idempotency<Tx, Request>,
  { scope, tenant, ...options }: WebOptions<Tx, Args>,
  handler: WebHandler<Tx, Args>,
): (request: Request, ...args: Args) => Promise<Response> {
  const { bodyLimit, ...runOptions } = resolveRouteOptions(options);
  const tenantOf = tenant ?? ((request: Request) => idempotency.tenantOf(request));
  return async (request, ...args) => {
    if (request.bodyUsed) {
      throw new MisuseError("bad_option", {
        detail:
          "the body was read before the idempotency wrapper saw it: put the wrapper in front of what reads it, " +
          "or let that read a `request.clone()`",
      });
    }
    const account = await tenantOf(request, ...args);
    if (!account) return responseOf(problem("unauthenticated"));
    const body = await readAtMost(request, bodyLimit);
    if (body === undefined) return responseOf(problem("body_too_large"));
    const { pathname, search } = new URL(request.url);
    const claim = {
      tenant: account,
      scope,
      key: request.headers.get("idempotency-key"),
      fingerprint: fingerprint({
        method: request.method,
        target: pathname + search,
        contentType: request.headers.get("content-type"),
        body,
      }),
    };
    const outcome = await idempotency.run(
      claim,
      async (execution) => {
        const whole = new Request(request, request.body === null ? {} : { body });
        const response = await handler(whole, execution, ...args);
        const headers = [...response.headers] as HeaderPair[];
        return { status: response.status, headers, body: new Uint8Array(await response.arrayBuffer()) };
      },
      runOptions,
    );
    return responseOf(outcome);
  };
}

/**
 * Serves the contract at {@link contractPath}: mount it on `GET`, for everybody.
 *
 * ```ts
 * app.get(contractPath, contractFetch(idempotency));
 * ```
 */
export function contractFetch(idempotency: Pick<Idempotency, "contract">): () => Response {
  const { headers, body } = contractAnswer(idempotency.contract);
  return () => responseOf({ status: 200, headers, body: new TextEncoder().encode(body) });
}

/** The whole body, or undefined where it is larger than `limit` bytes. */
async function readAtMost(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (value === undefined) return new Uint8Array(Buffer.concat(chunks, size));
    size += value.length;
    // Not canceled: that would cut the connection under the refusal.
    if (size > limit) return undefined;
    chunks.push(value);
  }
}

function responseOf({ status, headers, body }: Pick<Outcome, "status" | "headers" | "body">): Response {
  // Made here: servers that read a response's headers later would trip over a bad one where nobody catches it.
  const init = { status, headers: new Headers(headers.map(([name, value]): [string, string] => [name, value])) };
  // 204 and its like refuse even an empty body.
  return new Response(body?.length ? (body as Uint8Array<ArrayBuffer>) : null, init);
}
