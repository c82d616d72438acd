import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { placesOf } from "./matrix/cells.js";
import { runProcesses } from "./matrix/run-cell.js";

let worker: Bundle;
const places = placesOf("sqlite");

beforeAll(async () => {
  worker = await bundle(new URL("matrix/worker.ts", import.meta.url));
});
afterAll(() => worker?.remove());

it.each(places)("killed at %s, restarted, killed again: one effect, one key, every outcome told", async (place) => {
  const program = { node: process.execPath, path: worker.path };
  const report = await runProcesses({
    program,
    place,
    store: "better-sqlite3",
    trials: 2,
    seed: places.indexOf(place),
  });
  expect(report.faults).toEqual([]);
});
