import { afterAll, beforeAll, expect, it } from "vitest";
import { rowsOf } from "../soak/report.js";
import { soak } from "../soak/soak.js";
import { type Bundle, bundle } from "../support/bundle.js";

/** Milliseconds; on a busy machine thousands of synced writes take their time. */
const PATIENCE = 240_000;

let worker: Bundle;
let server: Bundle;

beforeAll(async () => {
  [worker, server] = (await Promise.all(
    ["worker.ts", "server.ts"].map((name) => bundle(new URL(`../soak/${name}`, import.meta.url))),
  )) as [Bundle, Bundle];
});
afterAll(() => {
  for (const program of [worker, server]) program?.remove();
});

it("two processes on one file, killed at random, through faults of every kind: nothing lost, nothing twice", {
  timeout: PATIENCE,
}, async () => {
  const report = await soak({
    programs: { worker: worker.path, server: server.path },
    operations: 1_000,
    processes: 2,
    seed: Date.now(),
    signal: AbortSignal.timeout(PATIENCE),
  });

  expect(rowsOf(report).filter(({ met }) => met === false)).toEqual([]);
  expect(report.fleet.kills).toBeGreaterThan(0);
  expect(Object.keys(report.saw.faults)).toHaveLength(8);
});
