import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { transfer } from "../transfer.mjs";

export async function open({ url, connections, dist, pipeline = false }) {
  const { createIdempotency, fingerprint } = await import(pathToFileURL(join(dist, "server/index.js")).href);
  const pool = new pg.Pool({ connectionString: url, max: connections, pipeline });
  const idempotency = createIdempotency({ db: pool, retention: "24h" });
  await idempotency.migrate();
  return {
    async run(key, body) {
      const bytes = JSON.stringify(body);
      const request = { method: "POST", target: "/transfers", contentType: "application/json", body: bytes };
      const claim = { tenant: "acct_1", scope: "transfers", key, fingerprint: fingerprint(request) };
      const { kind } = await idempotency.run(claim, async ({ tx }) => {
        const receipt = await transfer((text, values) => tx.query(text, values), key, body);
        return { status: 201, headers: { "content-type": "application/json" }, body: JSON.stringify(receipt) };
      });
      return kind;
    },
    close: () => pool.end(),
  };
}
