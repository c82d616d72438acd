import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { placesOf } from "./matrix/cells.js";
import { runProcesses } from "./matrix/run-cell.js";

let worker: Bundle;
let postgres: TestPostgres;

beforeAll(async () => {
  [worker, postgres] = await Promise.all([bundle(new URL("matrix/worker.ts", import.meta.url)), startPostgres()]);
});
afterAll(async () => {
  worker?.remove();
  await postgres?.stop();
});

/** What this store does by itself, and what it lies between; `npm run crash -- --store postgres` has all places. */
const steps = ["migrate", "group", "claim", "settle", "prune", "effect"];
const places = placesOf("postgres");
const some = places.filter((place) => steps.includes(place.split(":")[0] ?? ""));

it.each(some)("killed at %s on Postgres, restarted: one effect, one key, every outcome told", async (place) => {
  const report = await runProcesses({
    program: { node: process.execPath, path: worker.path },
    ...{ store: "postgres", database: postgres.url, place },
    trials: 1,
    seed: places.indexOf(place),
  });
  expect(report.faults).toEqual([]);
});
