/** The cells that a command line asks for, each to be run by itself. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildLibrary, Disk } from "../power-loss/disk.js";
import { ENDS, Tabs } from "../tabs/tabs.js";
import { type Place, placesOf } from "./cells.js";
import { isPostgres } from "./errand.js";
import { runProcesses } from "./run-cell.js";
import { type RandomOptions, runRandom } from "./run-random.js";

export interface Row {
  readonly name: string;
  readonly kills: number;
  readonly orders: number;
  readonly faults: readonly string[];
}

export interface Job {
  readonly name: string;
  run(onTrial: (done: number) => void): Promise<Row>;
}

/** Which places, how often, by which lot. */
export interface Plan {
  readonly wants: (place: Place) => boolean;
  readonly trials: number;
  readonly seed: number;
}

/** What all jobs on a store have in common. */
type Common = Pick<RandomOptions, "program" | "store" | "database" | "trials">;

/** A cell has the same lot whether it is run by itself or with all others. */
function cells(places: readonly Place[], { wants, seed }: Plan): { place: Place; seed: number }[] {
  return places.map((place, index) => ({ place, seed: seed * 1_000 + index })).filter(({ place }) => wants(place));
}

/** Each place of the store. */
export function processJobs(common: Common, plan: Plan): Job[] {
  const { store } = common;
  return cells(placesOf(isPostgres(store) ? "postgres" : "sqlite"), plan).map(({ place, seed }) => {
    const name = `${store} ${place}`;
    return {
      name,
      run: async (onTrial) => ({ name, ...(await runProcesses({ ...common, place, seed, onTrial })) }),
    };
  });
}

/** Any instant, from outside. */
export function randomJob(common: Common, { seed }: Plan, processes: number): Job {
  const name = `${common.store} at random`;
  return {
    name,
    run: async (onTrial) => ({ name, ...(await runRandom({ ...common, processes, seed, onTrial })) }),
  };
}

/** The same, and the power with them. @param source - of the library that keeps what is not synced from the disk */
export function powerLossJob(common: Common, { seed }: Plan, processes: number, source: string): Job {
  const name = `${common.store} power loss`;
  return {
    name,
    run: async (onTrial) => {
      const directory = await mkdtemp(join(tmpdir(), "samekey-disk-"));
      try {
        const disk = new Disk(directory, buildLibrary(source, directory));
        const report = await runRandom({ ...common, processes, seed, disk, onTrial });
        return { ...report, name: `${name}, ${report.lost} writes lost` };
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  };
}

/** Each place of a tab. One tab lives at a time, so each cell has a Chromium of its own. */
export function tabJobs(script: string, plan: Plan): Job[] {
  return cells(placesOf("indexeddb"), plan).flatMap(({ place, seed }) =>
    ENDS.map((end): Job => {
      const name = `tab ${end} ${place}`;
      const run = async (onTrial: (done: number) => void): Promise<Row> => {
        const tabs = await Tabs.open(script);
        try {
          return { name, ...(await tabs.runCell({ place, end, trials: plan.trials, seed, onTrial })) };
        } finally {
          await tabs.close();
        }
      };
      return { name, run };
    }),
  );
}
