import type { FastifyInstance } from "fastify";

/**
 * Lets pages from other origins send a key and read what they need of the answer. A real server names the origins it
 * trusts.
 */
export function allowBrowsers(app: FastifyInstance): void {
  app.addHook("onRequest", async (request, reply) => {
    if (request.headers.origin === undefined) return;
    reply.headers({
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "date, idempotency-replayed, idempotency-status, retry-after",
    });
  });
  app.options("/*", async (_request, reply) => {
    reply.headers({
      "access-control-allow-headers": "authorization, content-type, idempotency-key",
      "access-control-allow-methods": "GET, POST",
      "access-control-max-age": "600",
    });
    return reply.code(204).send();
  });
}
