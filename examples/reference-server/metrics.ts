import type { FastifyInstance } from "fastify";
import client from "prom-client";
import type { ServerEvent } from "../../src/server/index.js";
import { prometheusMetrics, type RetentionSource } from "../../src/server/metrics.js";

/** What the server counts, in a register of its own: several servers may run in one process. */
export interface ServerMetrics {
  /** For `createIdempotency`. */
  readonly observe: (event: ServerEvent) => void;
  /** Serves `GET /metrics`, with how each engine's database keeps what is promised. */
  serve(app: FastifyInstance, engines: readonly RetentionSource[]): void;
}

export function createServerMetrics(): ServerMetrics {
  const registry = new client.Registry();
  client.collectDefaultMetrics({ register: registry });
  const metrics = prometheusMetrics(client, { registry });
  return {
    observe: metrics.observe,
    serve: (app, engines) => {
      for (const [shard, engine] of engines.entries()) metrics.watch(engine, { shard: String(shard) });
      app.get("/metrics", async (_request, reply) => {
        reply.header("content-type", registry.contentType);
        return registry.metrics();
      });
    },
  };
}
