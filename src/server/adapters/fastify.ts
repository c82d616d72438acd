/**
 * Idempotent routes on Fastify 5.
 *
 * The hooks are the route's own, so they run after those of plugins in the same phase: authentication (`onRequest`)
 * comes before the claim, and what is stored is what the plugins made of the response. Within the request they sit as
 * close to the wire as Fastify allows: the raw body is taken before any parser, the claim comes before validation, the
 * stored answer is the last word on the way out.
 */
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MisuseError } from "../../errors.js";
import { type HeaderPair, marks, type Outcome } from "../answer.js";
import { contractAnswer } from "../contract.js";
import { isContention } from "../failure.js";
import type { Execution } from "../handler.js";
import type { Idempotency } from "../idempotency.js";
import { problem } from "../problem.js";
import type { RouteOptions } from "../route-options.js";
import { byName } from "./headers.js";
import { runRequest } from "./request.js";
import { bytesFrom, readAtMost } from "./streams.js";
import { begin, isOwn, type Turn } from "./turn.js";

/** Hooks for one route's options. */
export interface IdempotentRoute {
  preParsing(request: FastifyRequest, reply: FastifyReply, payload: Readable): Promise<Readable | FastifyReply>;
  preValidation(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  onError(request: FastifyRequest, reply: FastifyReply, error: Error): Promise<void>;
  onSend(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown>;
}

/** Made by {@link fastifyIdempotency}. */
export interface FastifyIdempotency<Tx> {
  /**
   * The hooks of an idempotent route: spread them into its options. How large its body may be says Fastify's `bodyLimit`.
   *
   * @param scope - the kind of operation, an explicit constant
   */
  route(scope: string, options?: Omit<RouteOptions<Tx>, "bodyLimit">): IdempotentRoute;
  /**
   * Inside the route's handler: the transaction's connection, the key, the deadline's signal.
   *
   * @throws MisuseError `bad_option` on a route without the hooks
   */
  execution(request: FastifyRequest): Execution<Tx>;
}

/** A request between its claim and its answer. */
interface Exchange<Tx> {
  readonly body: Uint8Array;
  turn?: Turn<Tx>;
  /** What is to be sent, once it is known. */
  outcome?: Promise<Outcome>;
  /** The reply's headers before the route began. */
  before?: ReadonlySet<string>;
  answered?: boolean;
  /** The answer is not the route's, which is still at work. */
  late?: boolean;
}

/**
 * Makes route hooks from an engine that has a `tenant` option; or from a function that chooses one by the request, for
 * effects that live in more than one database. It is asked once the body is parsed, before it is validated.
 *
 * ```ts
 * const once = fastifyIdempotency(idempotency);
 * app.post("/transfers", { ...once.route("transfers"), schema }, async (request, reply) => {
 *   const { tx } = once.execution(request);
 *   …
 * });
 * ```
 */
export function fastifyIdempotency<Tx>(
  engine: Idempotency<Tx, FastifyRequest> | ((request: FastifyRequest) => Idempotency<Tx, FastifyRequest>),
): FastifyIdempotency<Tx> {
  const choose = typeof engine === "function" ? engine : () => engine;
  const exchanges = new WeakMap<FastifyRequest, Exchange<Tx>>();

  const refuse = (request: FastifyRequest, reply: FastifyReply, outcome: Outcome): FastifyReply => {
    exchanges.set(request, { body: new Uint8Array(), outcome: Promise.resolve(outcome) });
    return reply.send("");
  };

  const route: FastifyIdempotency<Tx>["route"] = (scope, options = {}) => ({
    async preParsing(request, reply, payload) {
      // Taken whole, before any parser: one that leaves the body to the handler would have us claim without it.
      const body = await readAtMost(payload, request.routeOptions.bodyLimit);
      if (body !== undefined) {
        exchanges.set(request, { body });
        return giveBack(payload, body);
      }
      reply.header("connection", "close");
      return refuse(request, reply, problem("body_too_large"));
    },

    async preValidation(request, reply) {
      const exchange = exchanges.get(request);
      if (exchange === undefined) return;
      const idempotency = choose(request);
      const tenant = await idempotency.tenantOf(request);
      if (tenant === undefined) return refuse(request, reply, problem("unauthenticated"));
      const asked = runRequest(tenant, scope, request, exchange.body);
      exchange.before = new Set(Object.keys(reply.getHeaders()));
      // The turn ends in onSend, with whatever the route, its validation or its error handler answers.
      exchange.turn = await begin((handler) => idempotency.run(asked, handler, { ...options, rerun: false }));
      // Set only now: a claim that failed is the error handler's to answer, not onSend's.
      exchange.outcome = exchange.turn.outcome.catch((error) => {
        request.log.error({ err: error }, "the answer could not be stored");
        return problem("not_stored");
      });
      if (exchange.turn.execution === undefined) return reply.send("");
      // The deadline may pass before the route answers.
      exchange.outcome.then(() => {
        if (exchange.answered) return;
        exchange.late = true;
        reply.send("");
      });
    },

    async onError(request, _reply, error) {
      const exchange = exchanges.get(request);
      // A route cannot be run again, as a handler would be: its client is told to come back.
      if (exchange?.turn?.execution === undefined || !isContention(error)) return;
      exchange.answered = true;
      exchange.turn.fail(error);
    },

    async onSend(request, reply, payload) {
      const exchange = exchanges.get(request);
      if (exchange?.outcome === undefined) return payload;
      const { turn } = exchange;
      exchange.answered = true;
      if (payload instanceof Response) {
        setHeaders(reply.code(payload.status), [...payload.headers]);
      }
      let body = payload;
      if (turn?.execution !== undefined && !exchange.late) {
        const bytes = await bytesFrom(payload).catch((error: unknown) => {
          turn.answer({ status: 500 });
          throw error;
        });
        turn.answer({ status: reply.statusCode, headers: reply.getHeaders(), body: bytes });
        body = bytes;
      }
      const outcome = await exchange.outcome;
      const { status, headers, body: stored } = outcome;
      for (const name of marks) reply.removeHeader(name);
      if (isOwn(outcome)) {
        setHeaders(
          reply,
          headers.filter(([name]) => marks.includes(name)),
        );
        return body;
      }
      // Whatever was put together for this reply gives way to what the engine says; most of all a route's, if it ran.
      const names =
        turn?.execution === undefined ? ["content-type", "content-length"] : Object.keys(reply.getHeaders());
      for (const name of names) if (!exchange.before?.has(name)) reply.removeHeader(name);
      setHeaders(reply.code(status), headers);
      return stored && Buffer.from(stored);
    },
  });

  return {
    route,
    execution(request) {
      const execution = exchanges.get(request)?.turn?.execution;
      if (execution === undefined) throw new MisuseError("bad_option", { detail: "the route has no such hooks" });
      return execution;
    },
  };
}

/**
 * Serves the contract: mount it on `GET`, for everybody.
 *
 * ```ts
 * app.get(contractPath, fastifyContract(idempotency));
 * ```
 */
export function fastifyContract(
  idempotency: Pick<Idempotency, "contract">,
): (request: FastifyRequest, reply: FastifyReply) => Promise<string> {
  const { headers, body } = contractAnswer(idempotency.contract);
  return async (_request, reply) => {
    setHeaders(reply, headers);
    return body;
  };
}

function setHeaders(reply: FastifyReply, headers: readonly HeaderPair[]): void {
  for (const [name, values] of byName(headers)) reply.header(name, values);
}

/** The body for the parser, as if nobody had read it. */
function giveBack(payload: Readable, body: Uint8Array): Readable {
  const again = Readable.from(body.length === 0 ? [] : [body], { objectMode: false });
  // Where a decoder sits in front, it tells the parser here how many bytes came over the wire.
  return Object.assign(again, { receivedEncodedLength: Reflect.get(payload, "receivedEncodedLength") });
}
