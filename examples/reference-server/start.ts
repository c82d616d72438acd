import type { FastifyRequest } from "fastify";
import pg from "pg";
import { createIdempotency, type IdempotencyOptions } from "../../src/server/index.js";
import { createApp, tenantOf } from "./app.js";
import { createBank } from "./database.js";

export interface ReferenceServerOptions {
  /** 0 takes any free one. @defaultValue 0 */
  readonly port?: number | undefined;
  /** A Postgres database; what is missing in it is created. */
  readonly databaseUrl: string;
  /** The key's life. @defaultValue "24h" */
  readonly retention?: IdempotencyOptions["retention"] | undefined;
  /** Connections to Postgres. @defaultValue 16 */
  readonly connections?: number | undefined;
}

export interface ReferenceServer {
  /** Without a slash at the end. */
  readonly url: string;
  /** Lets requests under way finish, then ends. */
  close(): Promise<void>;
}

/** Starts the reference server in this process. Resolves once it listens. */
export async function startReferenceServer(options: ReferenceServerOptions): Promise<ReferenceServer> {
  const { port = 0, databaseUrl, retention = "24h", connections = 16 } = options;
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections });
  // A connection cut while idle is replaced; without a listener it would end the process.
  pool.on("error", () => {});
  try {
    const tenant = (request: FastifyRequest) => tenantOf(request);
    const idempotency = createIdempotency({ db: pool, retention, tenant });
    await createBank(pool);
    await idempotency.migrate();
    const app = createApp({ pool, idempotency });
    const url = await app.listen({ port, host: "127.0.0.1" });
    return {
      url,
      close: async () => {
        // A connection that is answered while the server closes would be kept alive, and the server with it.
        app.server.keepAliveTimeout = 1;
        await app.close();
        await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}
