/**
 * `npm run server`. `PORT` (3000), `DATABASE_URL` (without it, an embedded Postgres whose data stay in
 * `.tmp/reference-server/<port>`, so that keys outlive a restart), `SHARDS` (1), and for more than one server on them
 * `CREDIT_URL` and `CREDIT_TOKEN`.
 */
import { createServer } from "node:net";
import { databasesFor } from "./databases.js";
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { startReferenceServer } from "./start.js";

const port = Number(process.env["PORT"] ?? 3000);
const { DATABASE_URL, SHARDS, CREDIT_URL, CREDIT_TOKEN } = process.env;

// Before anything else: whoever holds the port also holds the data that belong to it.
await new Promise<void>((resolve, reject) => {
  const probe = createServer().once("error", reject);
  probe.listen(port, "127.0.0.1", () => probe.close(() => resolve()));
}).catch((error) => {
  console.error(`cannot listen on port ${port} (${error.code}): set PORT to another`);
  process.exit(1);
});

const postgres = DATABASE_URL
  ? { url: DATABASE_URL, stop: async () => {} }
  : await startEmbeddedPostgres({ dataDir: `.tmp/reference-server/${port}` });
const server = await databasesFor(postgres.url, SHARDS)
  .then((databaseUrl) =>
    startReferenceServer({
      port,
      databaseUrl,
      creditUrl: CREDIT_URL || undefined,
      creditToken: CREDIT_TOKEN || undefined,
    }),
  )
  .catch(async (error) => {
    await postgres.stop();
    console.error(`the server did not start: ${error.message}`);
    process.exit(1);
  });
console.log(`listening on ${server.url}`);

let stopping = false;
async function stop(): Promise<void> {
  // A terminal and npm both pass Ctrl-C on: the second must not cut the first short.
  if (stopping) return;
  stopping = true;
  await server.close();
  await postgres.stop();
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
