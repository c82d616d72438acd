import { describe, expect, test } from "vitest";
import { runSeed } from "./run.js";
import { readable } from "./trace.js";
import { withoutRealTime } from "./world/real-time.js";

const seeds = Array.from({ length: 20 }, (_, index) => 7_000 + index);

describe("a run of the model", () => {
  test.each(seeds)("seed %i repeats itself to the last event, without real time or chance", async (seed) => {
    const trace = async (): Promise<string[]> => (await runSeed(seed)).trace.map(readable);
    const first = await withoutRealTime(trace);
    expect(first.length).toBeGreaterThan(2);
    expect(await withoutRealTime(trace)).toEqual(first);
  });

  test("different seeds are different runs", async () => {
    const traces = await Promise.all([1, 2].map(async (seed) => (await runSeed(seed)).trace.map(readable).join("\n")));
    expect(traces[0]).not.toBe(traces[1]);
  });
});
