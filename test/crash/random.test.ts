import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { runRandom } from "./matrix/run-random.js";

let worker: Bundle;
let postgres: TestPostgres;

beforeAll(async () => {
  [worker, postgres] = await Promise.all([bundle(new URL("matrix/worker.ts", import.meta.url)), startPostgres()]);
});
afterAll(async () => {
  worker?.remove();
  await postgres?.stop();
});

it.each(["better-sqlite3", "postgres"] as const)(
  "three processes on one store, through %s, each killed at any instant: one effect, one key, lanes in order",
  async (store) => {
    const { faults } = await runRandom({
      program: { node: process.execPath, path: worker.path },
      ...{ store, database: postgres.url, processes: 3, trials: 9, seed: 55_813 },
    });
    expect(faults).toEqual([]);
  },
);
