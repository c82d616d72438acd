import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import type { Pool, PoolClient } from "pg";
import { fastifyContract, fastifyIdempotency } from "../../src/server/adapters/fastify.js";
import { contractPath, type Idempotency } from "../../src/server/index.js";
import { allowBrowsers } from "./cors.js";
import { positive, type Transfer, transfer, transferSchema } from "./transfers.js";

/**
 * The account a request acts for. Here a token `dev-<account id>` is enough, and none means `dev`; a real server looks
 * the token up. The token itself is never the tenant: it changes, and it is a secret.
 */
export function tenantOf({ headers }: FastifyRequest): string | undefined {
  if (headers.authorization === undefined) return "dev";
  return /^Bearer dev-([\w-]{1,64})$/i.exec(headers.authorization)?.[1];
}

export interface AppOptions {
  readonly pool: Pool;
  readonly idempotency: Idempotency<PoolClient, FastifyRequest>;
}

/** The HTTP side: transfers under a key, and a ledger to count them in. */
export function createApp({ pool, idempotency }: AppOptions): FastifyInstance {
  const app = Fastify({ bodyLimit: 64 * 1024, forceCloseConnections: "idle" });
  const once = fastifyIdempotency(idempotency);
  allowBrowsers(app);

  app.post<{ Body: Transfer }>(
    "/transfers",
    { ...once.route("transfers"), schema: { body: transferSchema } },
    async (request, reply) => {
      const { tx, key } = once.execution(request);
      const { status, body } = await transfer(tx, key, request.body);
      return reply.code(status).send(body);
    },
  );

  app.get<{ Querystring: { account: number } }>(
    "/ledger",
    {
      schema: { querystring: { type: "object", required: ["account"], properties: { account: positive } } },
    },
    async ({ query: { account } }, reply) => {
      const [found, entries] = await Promise.all([
        pool.query("SELECT balance FROM accounts WHERE id = $1", [account]),
        pool.query(
          "SELECT transfer, kind, account, amount, key, created_at FROM ledger_entries WHERE account = $1 ORDER BY seq",
          [account],
        ),
      ]);
      if (found.rows.length === 0) return reply.code(404).send({ error: "unknown_account" });
      const numbers = entries.rows.map((row) => ({ ...row, account: Number(row.account), amount: Number(row.amount) }));
      return { account, balance: Number(found.rows[0].balance), entries: numbers };
    },
  );

  app.get(contractPath, fastifyContract(idempotency));

  app.get("/healthz", async () => {
    await pool.query("SELECT 1");
    return { ok: true };
  });

  return app;
}
