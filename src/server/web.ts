import { MisuseError } from "../errors.js";
import type { HeaderPair, Outcome } from "./answer.js";
import { contractAnswer } from "./contract.js";
import type { Connection } from "./driver.js";
import { fingerprint } from "./fingerprint.js";
import type { Execution } from "./handler.js";
import type { Idempotency } from "./idempotency.js";
import { problem } from "./problem.js";

/** Options of {@link idempotentFetch}. */
export interface WebOptions {
  /** The kind of operation, an explicit constant. */
  readonly scope: string;
}

/** A handler of Web standard requests, with the transaction it runs in. */
export type WebHandler<C extends Connection> = (
  request: Request,
  execution: Execution<C>,
) => Promise<Response> | Response;

/**
 * Wraps a `Request → Response` handler (Hono, Next.js, Deno, Bun). Authenticate before, or in the `tenant` option; no
 * middleware may read or replace the body before.
 *
 * @throws what the handler throws, after everything was rolled back
 */
export function idempotentFetch<C extends Connection>(
  idempotency: Idempotency<C, Request>,
  { scope }: WebOptions,
  handler: WebHandler<C>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.bodyUsed) {
      throw new MisuseError("bad_option", { detail: "the body was read before the idempotency wrapper saw it" });
    }
    const tenant = await idempotency.tenantOf(request);
    if (tenant === undefined) return responseOf(problem("unauthenticated"));
    const body = new Uint8Array(await request.arrayBuffer());
    const { pathname, search } = new URL(request.url);
    const claim = {
      tenant,
      scope,
      key: request.headers.get("idempotency-key"),
      fingerprint: fingerprint({
        method: request.method,
        target: pathname + search,
        contentType: request.headers.get("content-type"),
        body,
      }),
    };
    const outcome = await idempotency.run(claim, async (execution) => {
      const whole = new Request(request, request.body === null ? {} : { body });
      const response = await handler(whole, execution);
      const headers = [...response.headers] as HeaderPair[];
      return { status: response.status, headers, body: new Uint8Array(await response.arrayBuffer()) };
    });
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
  return () => new Response(body, { headers: headers.map(([name, value]): [string, string] => [name, value]) });
}

function responseOf({ status, headers, body }: Outcome): Response {
  const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) };
  // 204 and its like refuse even an empty body.
  return new Response(body?.length ? (body as Uint8Array<ArrayBuffer>) : null, init);
}
