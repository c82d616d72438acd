// The shape that most articles show: an in-progress row first, the effect, then the row completed; all in one transaction.
import { createHash } from "node:crypto";
import pg from "pg";
import { transfer } from "../transfer.mjs";

export async function open({ url, connections }) {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  await pool.query(`
    CREATE TABLE IF NOT EXISTS textbook_keys (
      tenant text NOT NULL,
      key text NOT NULL,
      fingerprint bytea NOT NULL,
      state text NOT NULL,
      status smallint,
      body bytea,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (tenant, key)
    )`);
  return {
    async run(key, body) {
      const fingerprint = createHash("sha256").update(JSON.stringify(body)).digest();
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const { rowCount } = await client.query(
          `INSERT INTO textbook_keys (tenant, key, fingerprint, state) VALUES ('acct_1', $1, $2, 'in_progress')
           ON CONFLICT DO NOTHING`,
          [key, fingerprint],
        );
        if (rowCount === 0) {
          const { rows } = await client.query(
            "SELECT fingerprint, state, status, body FROM textbook_keys WHERE tenant = 'acct_1' AND key = $1",
            [key],
          );
          await client.query("COMMIT");
          if (!fingerprint.equals(rows[0].fingerprint)) return "mismatched";
          return rows[0].state === "completed" ? "replayed" : "in_progress";
        }
        const receipt = await transfer((text, values) => client.query(text, values), key, body);
        await client.query(
          "UPDATE textbook_keys SET state = 'completed', status = 201, body = $2 WHERE tenant = 'acct_1' AND key = $1",
          [key, Buffer.from(JSON.stringify(receipt))],
        );
        await client.query("COMMIT");
        return "executed";
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
