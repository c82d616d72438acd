import { afterAll, beforeAll } from "vitest";
import type { ContractHarness } from "../../src/testing/store-contract.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { contract } from "./contract.js";
import { type PooledHarness, pgHarness, postgresJsHarness } from "./postgres-harness.js";

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
