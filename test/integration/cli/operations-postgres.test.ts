import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Store } from "../../../src/store.js";
import { postgresStore } from "../../../src/stores/postgres.js";
import { type Ended, start } from "../../support/command.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";
import { clock, newRecord, unresolved } from "../../support/records.js";

let postgres: TestPostgres;
let pool: pg.Pool;

beforeAll(async () => {
  postgres = await startPostgres();
  pool = new pg.Pool({ connectionString: postgres.url });
  // The database may end its idle connections before the pool does.
  pool.on("error", () => {});
}, 60_000);

afterAll(async () => {
  await pool?.end();
  await postgres?.stop();
});

async function storeOf(name: string): Promise<Store> {
  const store = postgresStore({ pool, schema: "ops" });
  await store.open({ name, clock });
  return store;
}

const samekey = (...args: string[]): Promise<Ended> =>
  start([...args, "--schema", "ops"], { DATABASE_URL: postgres.url }).ended;

it("operates one sdk's operations in a database that several share", async () => {
  const [shop, bank] = await Promise.all([storeOf("shop"), storeOf("bank")]);
  const at = Date.now();
  const { record: mine } = await shop.insert(newRecord({ intent: "order-1", createdAt: at, keyAt: at }));
  const { record: theirs } = await bank.insert(newRecord({ createdAt: at, keyAt: at }));
  await shop.update(mine.id, (record) => unresolved(record, at));
  await bank.update(theirs.id, (record) => unresolved(record, at));

  const { stdout } = await samekey("list", "--name", "shop", "--json");
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id),
  ).toEqual([mine.id]);
  expect((await samekey("verify", "--name", "shop")).code).toBe(0);
  expect(await samekey("retry", theirs.id, "--name", "shop")).toMatchObject({ code: 1 });
  expect(await samekey("retry", "--all", "--name", "shop")).toMatchObject({ code: 0 });
  expect((await shop.get(mine.id))?.state).toBe("pending");
  expect((await bank.get(theirs.id))?.state).toBe("unresolved");
  await Promise.all([shop.close(), bank.close()]);
});

it("wants the sdk's name, and never prints the database's password", async () => {
  const nameless = await samekey("list");
  expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringContaining("--name")]);
  const url = new URL(postgres.url);
  url.password = "SENTINEL";
  url.port = "1";
  const lost = await start(["list", "--name", "shop", "--database-url", url.href, "--verbose"]).ended;
  expect(lost.code).toBe(1);
  expect(lost.stdout + lost.stderr).not.toContain("SENTINEL");
});
