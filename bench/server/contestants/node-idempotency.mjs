// @node-idempotency/core keeps its record beside the effect, not with it: it has no transaction to share. It brings no
// Postgres storage, so this is the smallest one that keeps its contract. A crash between the two leaves one of them.
import { Idempotency } from "@node-idempotency/core";
import pg from "pg";
import { transfer } from "../transfer.mjs";

export async function open({ url, connections }) {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  await pool.query("CREATE TABLE IF NOT EXISTS node_idempotency (key text PRIMARY KEY, val text NOT NULL)");
  const idempotency = new Idempotency({
    setIfNotExists: async (key, val) => {
      const { rowCount } = await pool.query(
        "INSERT INTO node_idempotency (key, val) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        [key, val],
      );
      return rowCount === 1;
    },
    set: async (key, val) => {
      await pool.query(
        "INSERT INTO node_idempotency (key, val) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET val = excluded.val",
        [key, val],
      );
    },
    get: async (key) => (await pool.query("SELECT val FROM node_idempotency WHERE key = $1", [key])).rows[0]?.val,
  });
  return {
    async run(key, body) {
      const request = { method: "POST", path: "/transfers", headers: { "idempotency-key": key }, body };
      try {
        if (await idempotency.onRequest(request)) return "replayed";
      } catch (error) {
        if (error.code === "REQUEST_IN_PROGRESS") return "in_progress";
        throw error;
      }
      const client = await pool.connect();
      let receipt;
      try {
        await client.query("BEGIN");
        receipt = await transfer((text, values) => client.query(text, values), key, body);
        await client.query("COMMIT");
      } finally {
        client.release();
      }
      await idempotency.onResponse(request, { body: receipt, additional: { status: 201 } });
      return "executed";
    },
    close: () => pool.end(),
  };
}
