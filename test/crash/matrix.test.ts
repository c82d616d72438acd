import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { PLACES } from "./matrix/cells.js";
import { runProcesses } from "./matrix/run-cell.js";

let worker: Bundle;

beforeAll(async () => {
  worker = await bundle(new URL("matrix/worker.ts", import.meta.url));
});
afterAll(() => worker?.remove());

it.each(PLACES)("killed at %s, restarted, killed again: one effect, one key, every outcome told", async (place) => {
  const program = { node: process.execPath, path: worker.path };
  const report = await runProcesses({
    program,
    place,
    driver: "better-sqlite3",
    trials: 2,
    seed: PLACES.indexOf(place),
  });
  expect(report.faults).toEqual([]);
});
