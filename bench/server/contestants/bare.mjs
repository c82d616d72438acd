// The effect in a transaction, and nothing else: what all others are measured beside.
import pg from "pg";
import { transfer } from "../transfer.mjs";

export async function open({ url, connections, pipeline = false }) {
  const pool = new pg.Pool({ connectionString: url, max: connections, pipeline });
  return {
    async run(key, body) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        await transfer((text, values) => client.query(text, values), key, body);
        await client.query("COMMIT");
        return "executed";
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
