/**
 * `npm run server`. `PORT` (3000), `DATABASE_URL` (without it, an embedded Postgres whose data stay in
 * `.tmp/reference-server/<port>`, so that keys outlive a restart).
 */
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { startReferenceServer } from "./start.js";

const port = Number(process.env["PORT"] ?? 3000);
const given = process.env["DATABASE_URL"];

const postgres = given
  ? { url: given, stop: async () => {} }
  : await startEmbeddedPostgres({ dataDir: `.tmp/reference-server/${port}` });
const server = await startReferenceServer({ port, databaseUrl: postgres.url }).catch(async (error) => {
  await postgres.stop();
  throw error;
});
console.log(`listening on ${server.url}`);

async function stop(): Promise<void> {
  await server.close();
  await postgres.stop();
  process.exit(0);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
