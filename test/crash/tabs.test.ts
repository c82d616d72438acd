/** The crash matrix in Chromium. `CRASH_TRIALS=20` for more ends of each cell, `CRASH_SEED=7` for others. */

import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium } from "../support/chromium.js";
import { placesOf } from "./matrix/cells.js";
import { bundlePage } from "./tabs/bundle-page.js";
import { ENDS, Tabs } from "./tabs/tabs.js";

const trials = Number(process.env["CRASH_TRIALS"] ?? 1);
const seed = Number(process.env["CRASH_SEED"] ?? 1);
const places = placesOf("indexeddb");

describe.runIf(await findChromium())("in Chromium", () => {
  let tabs: Tabs;
  beforeAll(async () => {
    tabs = await Tabs.open(await bundlePage());
  });
  afterAll(() => tabs?.close());

  describe.each(ENDS)("a tab %s", (end) => {
    it.each(places)("at %s, and another opened: one effect, one key, every outcome told", async (place) => {
      const report = await tabs.runCell({ place, end, trials, seed: seed + places.indexOf(place) });
      expect(report.faults).toEqual([]);
    });
  });
});
