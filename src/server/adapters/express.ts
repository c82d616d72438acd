/**
 * Idempotent routes on Express 5.
 *
 * One middleware, in front of the route's parsers and validation and behind its authentication. It reads the raw body and
 * puts it back, claims the key, and holds the response back until its transaction has committed: whatever the route
 * answers with, and whoever answers for it.
 */
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from "express";
import { MisuseError } from "../../errors.js";
import { contractAnswer } from "../contract.js";
import { isContention } from "../failure.js";
import type { Execution } from "../handler.js";
import type { Idempotency } from "../idempotency.js";
import { problem } from "../problem.js";
import { type ResolvedRouteOptions, type RouteOptions, resolveRouteOptions } from "../route-options.js";
import { peekBody } from "./body.js";
import { runRequest } from "./request.js";
import { hold } from "./response.js";
import { begin, type Turn } from "./turn.js";

/** Made by {@link expressIdempotency}. */
export interface ExpressIdempotency<Tx> {
  /**
   * The middleware of an idempotent route: after authentication, before body parsers and validation.
   *
   * @param scope - the kind of operation, an explicit constant
   */
  route(scope: string, options?: RouteOptions<Tx>): RequestHandler;
  /**
   * Inside the route: the transaction's connection, the key, the deadline's signal.
   *
   * @throws MisuseError `bad_option` on a route without the middleware
   */
  execution(request: Request): Execution<Tx>;
  /**
   * For behind the routes, before error handlers of your own: answers 503 `contention` where the transaction lost against
   * another one. Everything else goes on to them.
   */
  readonly onError: ErrorRequestHandler;
}

/**
 * Makes middleware from an engine that has a `tenant` option; or from a function that chooses one by the request, for
 * effects that live in more than one database. It is given the raw body, too, as no parser has seen it yet.
 *
 * ```ts
 * const once = expressIdempotency(idempotency);
 * app.post("/transfers", authenticate, once.route("transfers"), express.json(), async (request, response) => {
 *   const { tx } = once.execution(request);
 *   …
 * });
 * ```
 */
export function expressIdempotency<Tx>(
  engine: Idempotency<Tx, Request> | ((request: Request, body: Uint8Array) => Idempotency<Tx, Request>),
): ExpressIdempotency<Tx> {
  const choose = typeof engine === "function" ? engine : () => engine;
  const turns = new WeakMap<Request, Turn<Tx>>();

  const answer = async (
    scope: string,
    { bodyLimit, ...options }: ResolvedRouteOptions<Tx>,
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> => {
    const held = hold(response);
    try {
      const body = await peekBody(request, bodyLimit);
      if (body === undefined) {
        response.shouldKeepAlive = false;
        return held.send(problem("body_too_large"));
      }
      const idempotency = choose(request, body);
      const tenant = await idempotency.tenantOf(request);
      if (tenant === undefined) return held.send(problem("unauthenticated"));
      const asked = runRequest(tenant, scope, request, body);
      const turn = await begin<Tx>((handler) => idempotency.run(asked, handler, { ...options, rerun: false }));
      if (turn.execution !== undefined) {
        turns.set(request, turn);
        held.answer.then(turn.answer);
        next();
      }
      held.send(await turn.outcome);
    } catch (error) {
      held.release();
      throw error;
    }
  };

  return {
    route(scope, options = {}) {
      const resolved = resolveRouteOptions(options);
      return (request, response, next) => answer(scope, resolved, request, response, next);
    },
    execution(request) {
      const execution = turns.get(request)?.execution;
      if (execution === undefined) {
        throw new MisuseError("bad_option", { detail: "the route has no idempotency middleware in front of it" });
      }
      return execution;
    },
    onError(error, request, _response, next) {
      const turn = turns.get(request);
      // A route cannot be run again, as a handler would be: its client is told to come back.
      if (turn !== undefined && isContention(error)) turn.fail(error);
      else next(error);
    },
  };
}

/**
 * Serves the contract: mount it on `GET`, for everybody.
 *
 * ```ts
 * app.get(contractPath, expressContract(idempotency));
 * ```
 */
export function expressContract(idempotency: Pick<Idempotency, "contract">): RequestHandler {
  const { headers, body } = contractAnswer(idempotency.contract);
  return (_request, response) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    response.end(body);
  };
}
