import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { ContractHarness } from "../../src/testing/store-contract.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { contract } from "./contract.js";
import { type PooledHarness, pgHarness, postgresJsHarness, sealedHarness } from "./postgres-harness.js";

let server: TestPostgres;

beforeAll(async () => {
  server = await startPostgres();
});

afterAll(() => server.stop());

/** The cases are registered before there is a server. */
function onServer(make: (url: string) => PooledHarness): ContractHarness {
  let harness: PooledHarness | undefined;
  afterAll(() => harness?.end());
  return {
    create() {
      harness ??= make(server.url);
      return harness.create();
    },
  };
}

contract("Postgres through pg", onServer(pgHarness));
contract("Postgres through postgres.js", onServer(postgresJsHarness));

const sealed = "the sealed contract's";
contract(
  "Postgres through pg, sealed",
  onServer((url) => sealedHarness(url, sealed)),
  [
    // Functions inside of a transaction get what stands there, which is sealed.
    "update stores what apply makes of what stands there",
    // Sealing takes a turn of the event loop, so that inserts come after reads of the same tick, and after a close.
    "verbs called in one tick see each other in the order of the calls",
    "a settle and the claim after it in one tick see each other",
    "counts in the same tick include what came before",
    "what was called before close is done",
  ],
);

test("nothing of a body or an answer stands in the tables of the sealed one", async () => {
  // What the cases' requests and answers are made of.
  const words = ['"src":8842', '"id":"tr_1"'];
  const found = async (schema: string, word: string): Promise<number> => {
    const { rows } = await pool.query(
      `select count(*)::integer as n from "${schema}".operations as o
       where o::text like $1 or position($2::bytea in coalesce(request, '')) > 0 or position($2::bytea in coalesce(response, '')) > 0`,
      [`%${word}%`, Buffer.from(word)],
    );
    return rows[0].n;
  };
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  for (const word of words) {
    expect(await found("the contract's", word), "the scan can find it").toBeGreaterThan(0);
    expect(await found(sealed, word)).toBe(0);
  }
  const { rows } = await pool.query(
    `select count(request)::integer as requests, count(response)::integer as responses from "${sealed}".operations`,
  );
  expect(rows[0].requests).toBeGreaterThan(0);
  expect(rows[0].responses).toBeGreaterThan(0);
});
