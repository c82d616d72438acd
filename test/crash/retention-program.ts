/** One run of the retention job. Stands still before the statement it is told, to be killed there. */

import process from "node:process";
import pg from "pg";
import { createIdempotency, type Database } from "samekey/server";
import type { RetentionProgram } from "./retention-told.js";

const { url, schema, before, thenCommit } = JSON.parse(process.argv[2] ?? "") as RetentionProgram;
const pool = new pg.Pool({ connectionString: url, max: 1 });
pool.on("error", () => {});

let met = false;
async function pass(text: string): Promise<void> {
  const stand = thenCommit ? met && text === "COMMIT" : text.includes(before);
  met ||= text.includes(before);
  if (!stand) return;
  process.send?.("stands");
  await new Promise(() => {});
}

const db: Database<pg.PoolClient> = {
  async connect() {
    const client = await pool.connect();
    const query = async (text: string, values?: unknown[]) => {
      await pass(text);
      return client.query(text, values);
    };
    return Object.assign(Object.create(client), { query, release: client.release.bind(client) });
  },
};

process.on("disconnect", () => process.exit(0));
await createIdempotency({ db, schema, retention: "24h" }).runRetention();
process.send?.("done");
