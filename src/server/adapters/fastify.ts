/**
 * Idempotent routes on Fastify 5.
 *
 * The hooks are the route's own, so they run after those of plugins in the same phase: authentication (`onRequest`)
 * comes before the claim, and what is stored is what the plugins made of the response. Within the request they sit as
 * close to the wire as Fastify allows: the raw body is taken before any parser, the claim comes before validation, the
 * stored answer is the last word on the way out.
 */
import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MisuseError } from "../../errors.js";
import type { Answer, HeaderPair, Outcome } from "../answer.js";
import { contractAnswer } from "../contract.js";
import type { Connection } from "../driver.js";
import { fingerprint } from "../fingerprint.js";
import type { Execution } from "../handler.js";
import type { Idempotency } from "../idempotency.js";
import { problem } from "../problem.js";
import { bytesFrom, deferred, tap } from "./streams.js";

/** Hooks for one route's options. */
export interface IdempotentRoute {
  preParsing(request: FastifyRequest, reply: FastifyReply, payload: Readable): Promise<Readable>;
  preValidation(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  onSend(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown>;
}

/** Made by {@link fastifyIdempotency}. */
export interface FastifyIdempotency<C extends Connection> {
  /**
   * The hooks of an idempotent route: spread them into its options.
   *
   * @param scope - the kind of operation, an explicit constant
   */
  route(scope: string): IdempotentRoute;
  /**
   * Inside the route's handler: the transaction's connection, the key, the deadline's signal.
   *
   * @throws MisuseError `bad_option` on a route without the hooks
   */
  execution(request: FastifyRequest): Execution<C>;
}

/** A request between its claim and its answer. */
interface Session<C extends Connection> {
  readonly body: Uint8Array[];
  execution?: Execution<C> | undefined;
  /** Hands the route's answer to the waiting transaction. */
  answer?: (answer: Answer) => void;
  /** What is to be sent, once it is known. */
  outcome?: Promise<Outcome>;
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
export function fastifyIdempotency<C extends Connection>(
  engine: Idempotency<C, FastifyRequest> | ((request: FastifyRequest) => Idempotency<C, FastifyRequest>),
): FastifyIdempotency<C> {
  const choose = typeof engine === "function" ? engine : () => engine;
  const sessions = new WeakMap<FastifyRequest, Session<C>>();

  const route = (scope: string): IdempotentRoute => ({
    async preParsing(request, _reply, payload) {
      const session: Session<C> = { body: [] };
      sessions.set(request, session);
      return tap(payload, session.body);
    },

    async preValidation(request, reply) {
      const session = sessions.get(request);
      if (session === undefined) return;
      const idempotency = choose(request);
      const tenant = await idempotency.tenantOf(request);
      if (tenant === undefined) {
        session.outcome = Promise.resolve(problem("unauthenticated"));
        return reply.send("");
      }
      const claim = {
        tenant,
        scope,
        key: request.headers["idempotency-key"],
        fingerprint: fingerprintOf(request, session.body),
      };
      // The route is the engine's handler, turned inside out: it begins where the execution is handed over, and ends
      // in onSend, with whatever the route, its validation or its error handler answers.
      const started = deferred<Execution<C> | undefined>();
      const answered = deferred<Answer>();
      const outcome = idempotency.run(claim, (execution) => {
        // A route runs once. If its effects were undone, recording its answer a second time would lose them.
        if (session.execution !== undefined) throw new Error("the route cannot be run again");
        session.answer = answered.resolve;
        started.resolve(execution);
        return answered.promise;
      });
      outcome.then(() => started.resolve(undefined), started.reject);
      session.execution = await started.promise;
      // Set only now: a claim that failed is the error handler's to answer, not onSend's.
      session.outcome = outcome.catch((error) => {
        request.log.error({ err: error }, "the answer could not be stored");
        return problem("not_stored");
      });
      if (session.execution === undefined) return reply.send("");
      // The deadline may pass before the route answers.
      session.outcome.then(() => {
        if (session.answer !== undefined) reply.send("");
      });
    },

    async onSend(request, reply, payload) {
      const session = sessions.get(request);
      if (session?.outcome === undefined) return payload;
      const { answer } = session;
      delete session.answer;
      const cancel = (error: unknown): never => {
        answer?.({ status: 500 });
        throw error;
      };
      if (payload instanceof Response) {
        setHeaders(reply.code(payload.status), [...payload.headers]);
      }
      const body = answer === undefined ? payload : await bytesFrom(payload).catch(cancel);
      answer?.({ status: reply.statusCode, headers: reply.getHeaders(), body: body as Buffer | null });
      const { kind, status, headers, body: stored } = await session.outcome;
      for (const name of marks) reply.removeHeader(name);
      if (kind === "executed" || kind === "released") {
        setHeaders(
          reply,
          headers.filter(([name]) => marks.includes(name)),
        );
        return body;
      }
      // Whatever was put together for this reply gives way to what the engine says.
      for (const name of ["content-type", "content-length"]) reply.removeHeader(name);
      setHeaders(reply.code(status), headers);
      return stored && Buffer.from(stored);
    },
  });

  return {
    route,
    execution(request) {
      const execution = sessions.get(request)?.execution;
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

const marks: readonly string[] = ["idempotency-status", "idempotency-replayed"];

function setHeaders(reply: FastifyReply, headers: readonly HeaderPair[]): void {
  for (const name of new Set(headers.map(([name]) => name))) {
    const values = headers.filter(([other]) => other === name).map(([, value]) => value);
    reply.header(name, values.length === 1 ? values[0] : values);
  }
}

function fingerprintOf(request: FastifyRequest, chunks: readonly Uint8Array[]): Uint8Array {
  return fingerprint({
    method: request.method,
    target: request.originalUrl,
    contentType: request.headers["content-type"],
    body: Buffer.concat(chunks),
  });
}
