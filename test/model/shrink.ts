import type { Action } from "./program.js";
import type { Run, runSeed } from "./run.js";

/** No more runs than this are spent on it. */
const MOST = 300;

/**
 * The shortest program that is found to break the same invariant in the same world: actions are left out, in ever smaller
 * pieces.
 */
export async function shrink(run: Run, runAgain: typeof runSeed): Promise<Run> {
  let best = run;
  let runs = 0;
  for (let piece = Math.ceil(run.program.length / 2); piece >= 1; piece = piece === 1 ? 0 : Math.ceil(piece / 2)) {
    for (let start = 0; start < best.program.length && runs < MOST; ) {
      runs += 1;
      const shorter = await runAgain(run.seed, without(best.program, start, piece));
      if (shorter.violation?.invariant === run.violation?.invariant) best = shorter;
      else start += piece;
    }
  }
  return best;
}

function without(program: readonly Action[], start: number, count: number): readonly Action[] {
  return [...program.slice(0, start), ...program.slice(start + count)];
}
