import pg from "pg";
import { createIdempotency } from "samekey/server";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
// A connection cut while idle is replaced; without a listener it would end the process.
pool.on("error", () => {});

export const idempotency = createIdempotency({
  db: pool,
  retention: "24h",
  // A real server looks the token up.
  tenant: (request) => /^Bearer dev-([\w-]{1,64})$/.exec(request.headers.get("authorization"))?.[1],
});
