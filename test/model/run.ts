import { Facts } from "./invariants/facts.js";
import { invariants } from "./invariants/index.js";
import { type Action, drawProgram } from "./program.js";
import { type ModelEvent, readable } from "./trace.js";
import { Enough, Simulation } from "./world/simulation.js";
import { World } from "./world/world.js";

/** What was found wrong. */
export interface Violation {
  /** The invariant's name. */
  readonly invariant: string;
  readonly detail: string;
}

/** What came of one run. */
export interface Run {
  readonly seed: number;
  readonly program: readonly Action[];
  readonly trace: readonly ModelEvent[];
  readonly violation: Violation | undefined;
}

/** After so many events faults end; after twice as many a run goes round in a loop. */
const MOST = 20_000;

/** Ends a run as soon as something is found wrong. */
class Found extends Error {}

/**
 * Runs one seed.
 *
 * @param program - another one than the seed's own, in the world of that seed
 */
export async function runSeed(seed: number, program?: readonly Action[]): Promise<Run> {
  const trace: ModelEvent[] = [];
  const facts = new Facts();
  const checks = invariants.map(({ name, watch }) => ({ name, check: watch(facts) }));
  let violation: Violation | undefined;
  const world = new World(String(seed), (event) => {
    if (violation) return;
    trace.push(event);
    facts.see(event);
    if (trace.length > (facts.wereApart ? 2 * MOST : MOST))
      violation = { invariant: "liveness", detail: `${trace.length} events: it goes round in a loop` };
    for (const { name, check } of checks) {
      const detail = check(event);
      if (detail === undefined) continue;
      violation = { invariant: name, detail };
      return;
    }
  });
  world.stopWhen(() => {
    if (violation) throw new Found();
    // Those that differ by more than a lease, and that nobody corrects, take each other's for over, again and again.
    if (trace.length > MOST && facts.wereApart && !world.calm) throw new Enough();
  });
  const actions = program ?? drawProgram(world.dice.fork("program"), world.weather);
  const simulation = new Simulation(world);
  try {
    await simulation.run(actions);
  } catch (error) {
    if (!(error instanceof Found)) throw error;
  } finally {
    simulation.end();
  }
  return { seed, program: actions, trace, violation };
}

/** A failing run, for people. */
export function report({ seed, trace, violation, program }: Run): string {
  const lines = trace.map(readable);
  return [`seed ${seed}, ${program.length} actions:`, ...lines, "", verdict(violation)].join("\n");
}

function verdict(violation: Violation | undefined): string {
  return violation ? `BROKEN ${violation.invariant}: ${violation.detail}` : "every promise kept";
}
