import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { type Credit, credit, creditSchema, findCredit } from "./credits.js";
import { account } from "./schemas.js";
import type { Shards } from "./shards.js";

/** What the shards ask of each other. It moves money, so it wants a token that only they know. */
export function serveShards(app: FastifyInstance, shards: Shards, token: string): void {
  app.register(async (internal) => {
    internal.addHook("onRequest", async ({ headers }, reply) => {
      if (same(headers.authorization ?? "", `Bearer ${token}`)) return;
      return reply.code(401).send({ error: "unauthenticated" });
    });

    internal.post<{ Body: Credit }>("/credits", { schema: { body: creditSchema } }, async ({ body }, reply) => {
      const { refusal, fresh, same } = await credit(shards.of(body.account).pool, body);
      if (!same) return reply.code(422).send({ error: "idempotency_key_reused_with_different_body" });
      reply.header("idempotency-status", fresh ? "executed" : "replayed");
      return refusal === null ? reply.code(201).send(body) : reply.code(404).send({ error: refusal });
    });

    internal.get<{ Params: { transfer: string }; Querystring: { account: string } }>(
      "/credits/:transfer",
      {
        schema: {
          params: { type: "object", properties: { transfer: creditSchema.properties.transfer } },
          querystring: { type: "object", required: ["account"], properties: { account } },
        },
      },
      async ({ params, query }, reply) => {
        const found = await findCredit(shards.of(Number(query.account)).pool, params.transfer);
        return found ?? reply.code(404).send({ error: "unknown_transfer" });
      },
    );
  });
}

function same(given: string, wanted: string): boolean {
  const [left, right] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
