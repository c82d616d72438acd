import { randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { RetryOptions } from "samekey";
import type { IdempotencyOptions } from "../../src/server/index.js";
import { createApp, tenantOf } from "./app.js";
import { createServerMetrics } from "./metrics.js";
import { Shards } from "./shards.js";

export interface ReferenceServerOptions {
  /** 0 takes any free one. @defaultValue 0 */
  readonly port?: number | undefined;
  /** A Postgres database, or one for each shard; what is missing in them is created. */
  readonly databaseUrl: string | readonly string[];
  /** The key's life. @defaultValue "24h" */
  readonly retention?: IdempotencyOptions["retention"] | undefined;
  /** Connections to each database. @defaultValue 16 */
  readonly connections?: number | undefined;
  /** Where the server is that takes credits to the other shards. @defaultValue this one */
  readonly creditUrl?: string | undefined;
  /** What it wants to see for that; the same for all servers that share it. @defaultValue a new one for every run */
  readonly creditToken?: string | undefined;
  /** How credits are tried again. @defaultValue after 500 ms, later at most 30 s */
  readonly creditRetry?: RetryOptions | undefined;
}

export interface ReferenceServer {
  /** Without a slash at the end. */
  readonly url: string;
  /** Lets requests under way finish, then ends. */
  close(): Promise<void>;
}

/** Starts the reference server in this process. Resolves once it listens. */
export async function startReferenceServer(options: ReferenceServerOptions): Promise<ReferenceServer> {
  const { port = 0, databaseUrl, retention = "24h", connections = 16, creditUrl, creditRetry } = options;
  const creditToken = options.creditToken ?? randomBytes(32).toString("base64url");
  let url = "";
  const metrics = createServerMetrics();
  const shards = new Shards({
    databaseUrls: [databaseUrl].flat(),
    connections,
    idempotency: { retention, tenant: (request: FastifyRequest) => tenantOf(request), observe: metrics.observe },
    address: () => creditUrl ?? url,
    token: creditToken,
    retry: creditRetry,
  });
  const app = createApp({ shards, creditToken });
  metrics.serve(
    app,
    shards.all.map(({ idempotency }) => idempotency),
  );
  try {
    url = await app.listen({ port, host: "127.0.0.1" });
    await shards.open();
  } catch (error) {
    await app.close();
    await shards.close();
    throw error;
  }
  return {
    url,
    close: async () => {
      shards.stop();
      // A connection that is answered while the server closes would be kept alive, and the server with it.
      app.server.keepAliveTimeout = 1;
      await app.close();
      await shards.close();
    },
  };
}
