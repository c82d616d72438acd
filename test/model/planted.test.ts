import { describe, expect, test } from "vitest";
import { plantedModel } from "./planted.js";
import { plants } from "./plants/index.js";

/** So many seeds are enough to find any of them. */
const ENOUGH = 1_000;

describe("the model finds", () => {
  test.each(plants)("$name", async (plant) => {
    const { runSeed } = await plantedModel(plant);
    let seed = 0;
    let { violation: found } = await runSeed(plant.seed ?? 1);
    while (!found && seed < ENOUGH) found = (await runSeed(++seed)).violation;
    expect(plant.breaks, `seed ${seed}: ${found?.detail}`).toContain(found?.invariant);
  });

  test("no bug where none can be planted: its place has to be there", async () => {
    const change = { file: "core/record.ts", find: "what nobody wrote", replace: "" };
    await expect(plantedModel({ name: "nothing", breaks: [], changes: [change] })).rejects.toThrow(
      /holds its place 0 times/,
    );
  });
});
