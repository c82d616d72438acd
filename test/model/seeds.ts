import { describe, expect, test } from "vitest";
import { report, runSeed } from "./run.js";
import { shrink } from "./shrink.js";

/** Registers seeds as tests, in groups: which one fails is told with its trace. */
export function testSeeds(from: number, count: number): void {
  const group = 50;
  describe(`seeds ${from} to ${from + count - 1}`, () => {
    for (let first = from; first < from + count; first += group) {
      test(`${first} to ${first + group - 1} keep every promise`, async () => {
        for (let seed = first; seed < first + group; seed += 1) {
          const run = await runSeed(seed);
          if (run.violation) expect.fail(report(await shrink(run, runSeed)));
        }
      });
    }
  });
}
