import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { fastifyContract, fastifyIdempotency } from "../../src/server/adapters/fastify.js";
import { contractPath } from "../../src/server/index.js";
import { allowBrowsers } from "./cors.js";
import { serveShards } from "./internal.js";
import { readLedger } from "./ledger.js";
import { account } from "./schemas.js";
import type { Shards } from "./shards.js";
import { type Transfer, transfer, transferSchema } from "./transfers.js";

/**
 * The account a request acts for. Here a token `dev-<account id>` is enough, and none means `dev`; a real server looks
 * the token up. The token itself is never the tenant: it changes, and it is a secret.
 */
export function tenantOf({ headers }: FastifyRequest): string | undefined {
  if (headers.authorization === undefined) return "dev";
  return /^Bearer dev-([\w-]{1,64})$/i.exec(headers.authorization)?.[1];
}

export interface AppOptions {
  readonly shards: Shards;
  readonly creditToken: string;
}

/** The HTTP side: transfers under a key, and a ledger to count them in. */
export function createApp({ shards, creditToken }: AppOptions): FastifyInstance {
  const app = Fastify({
    bodyLimit: 64 * 1024,
    // Fastify waits without end for a request, unless told otherwise.
    requestTimeout: 30_000,
    forceCloseConnections: "idle",
    // A number in quotes would be routed as none, and then taken for one.
    ajv: { customOptions: { coerceTypes: false } },
  });
  // The key lives where the effect does, so the engine is that of the source account's shard.
  const once = fastifyIdempotency((request) => shards.ofRequest(request).idempotency);
  allowBrowsers(app);
  serveShards(app, shards, creditToken);

  app.post<{ Body: Transfer }>(
    "/transfers",
    { ...once.route("transfers"), schema: { body: transferSchema } },
    async (request, reply) => {
      const { tx, key } = once.execution(request);
      const { relay } = shards.of(request.body.src);
      const { status, body } = await transfer({ tx, key, relay, shards: shards.all.length }, request.body);
      return reply.code(status).send(body);
    },
  );

  app.get<{ Querystring: { account: string } }>(
    "/ledger",
    { schema: { querystring: { type: "object", required: ["account"], properties: { account } } } },
    async ({ query }, reply) => {
      const found = await readLedger(shards.of(Number(query.account)).pool, Number(query.account));
      return found ?? reply.code(404).send({ error: "unknown_account" });
    },
  );

  app.get(contractPath, fastifyContract(shards));

  app.get("/healthz", async (_request, reply) => {
    const answering = await shards.answering();
    const ok = answering.every(Boolean);
    return reply.code(ok ? 200 : 503).send(ok ? { ok } : { ok, shards: answering });
  });

  return app;
}
