import * as drizzleOrm from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import * as kyselyModule from "kysely";
import pg from "pg";
import postgresJs from "postgres";
import * as samekey from "samekey";
import * as store from "samekey/stores/postgres";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { runSnippet, snippetsOf } from "../../support/snippets.js";
import { world } from "./fixture.js";

const at = world();
const soon = { timeout: 10_000, interval: 20 };
const snippets = snippetsOf("docs/postgres-store.md");
const untried = new Set(snippets.keys());
afterAll(() => expect([...untried]).toEqual([]));

const modules = {
  pg: { default: pg },
  samekey,
  "samekey/stores/postgres": store,
  kysely: kyselyModule,
  "drizzle-orm": drizzleOrm,
};

async function run(name: string, scope: Record<string, unknown>) {
  untried.delete(name);
  return runSnippet(snippets.get(name) ?? "", modules, scope);
}

/** The page's sdk, on this test's database and server. */
async function open() {
  const made = await run("open", { databaseUrl: at.url, baseUrl: at.server.url });
  const { sdk, pool } = made as { sdk: samekey.Sdk; pool: pg.Pool };
  pool.on("error", () => {});
  onTestFinished(async () => {
    await sdk.purge("single");
    await sdk.close();
    await pool.end();
  });
  return { sdk, pool };
}

const arrives = (count: number) => vi.waitFor(() => expect(at.server.arrivals.length).toBe(count), soon);

test("an operation goes with the transaction of a pg client", async () => {
  const { sdk, pool } = await open();
  await run("transaction", { sdk, pool });
  await arrives(1);
  expect((await at.pool.query("select id from debits where id = 'debit-1'")).rowCount).toBe(1);
  // The debit is there already: neither a second one nor a second credit.
  await expect(run("transaction", { sdk, pool })).rejects.toMatchObject({ code: "23505" });
});

test("an operation goes with the transactions of Kysely, Drizzle and postgres.js", async () => {
  const { sdk, pool } = await open();
  const kysely = new kyselyModule.Kysely({ dialect: new kyselyModule.PostgresDialect({ pool }) });
  await run("kysely", { sdk, kysely });
  await arrives(1);
  await run("drizzle", { sdk, drizzle: drizzle(pool) });
  await arrives(2);
  const postgres = postgresJs(at.url, { max: 1, onnotice: () => {} });
  onTestFinished(() => postgres.end());
  await run("postgres-js", { sdk, postgres });
  await arrives(3);
});
