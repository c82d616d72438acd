import type { FastifyInstance } from "fastify";
import { corsHeaders } from "../../src/server/index.js";

/**
 * Lets pages from other origins send a key and read what they need of the answer. A real server names the origins it
 * trusts.
 */
export function allowBrowsers(app: FastifyInstance): void {
  app.addHook("onRequest", async (request, reply) => {
    if (request.headers.origin === undefined) return;
    reply.headers({
      "access-control-allow-origin": "*",
      "access-control-expose-headers": corsHeaders.exposedHeaders.join(", "),
    });
  });
  app.options("/*", async (_request, reply) => {
    reply.headers({
      "access-control-allow-headers": [...corsHeaders.allowedHeaders, "authorization"].join(", "),
      "access-control-allow-methods": "GET, POST",
      "access-control-max-age": "600",
    });
    return reply.code(204).send();
  });
}
