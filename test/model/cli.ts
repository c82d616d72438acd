import { commandLine } from "../../scripts/command-line.mjs";
import { plantedModel } from "./planted.js";
import { plants } from "./plants/index.js";
import { report, runSeed as runSound } from "./run.js";
import { shrink } from "./shrink.js";
import { withoutRealTime } from "./world/real-time.js";

const HELP = `npm run model -- [options]

  --seeds N     how many seeds (default 2000), or from which to which: 500..999
  --from N      the first one (default 1): go on where an earlier run stopped
  --all         go on after a seed that fails; prints the numbers of those that do
  --seed N      this one alone, with its trace
  --plant NAME  with a bug in the client, to see that it is found: ${plants.map(({ name }) => name).join(", ")}`;

const { values } = commandLine(HELP, {
  options: {
    seeds: { type: "string", default: "2000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    all: { type: "boolean", default: false },
    plant: { type: "string" },
  },
});

const plant = plants.find(({ name }) => name === values.plant);
if (values.plant !== undefined && !plant) throw new Error(`there is no plant "${values.plant}"; see --help`);
const { runSeed } = plant ? await plantedModel(plant) : { runSeed: runSound };

if (values.seed === undefined) await runAll(...range(values.seeds, values.from));
else await showOne(whole("seed", values.seed));

async function runAll(from: number, count: number): Promise<void> {
  const end = from + count;
  const started = performance.now();
  const failed: number[] = [];
  for (let seed = from; seed < end; seed += 1) {
    const run = await runSeed(seed);
    if (run.violation) {
      failed.push(seed);
      process.exitCode = 1;
      const again = `npm run model -- --seed ${seed}${plant ? ` --plant "${plant.name}"` : ""}`;
      if (values.all) console.log(`seed ${seed}: ${run.violation.invariant}: ${run.violation.detail}; ${again}`);
      else return console.log(`\n${report(await shrink(run, runSeed))}\n\nagain: ${again}`);
    }
    const done = seed - from + 1;
    if (done % 100 === 0 || seed === end - 1) {
      const each = ((performance.now() - started) / done).toFixed(1);
      process.stderr.write(`\r${done} of ${count} seeds, ${each} ms each; go on with --from ${seed + 1}`);
    }
  }
  process.stderr.write("\n");
  console.log(`seeds ${from} to ${end - 1}: ${failed.length === 0 ? "every promise kept" : `${failed.length} failed`}`);
}

async function showOne(seed: number): Promise<void> {
  const run = await withoutRealTime(() => runSeed(seed));
  console.log(report(run));
  if (!run.violation) return;
  console.log(`\nand with as few actions as it takes:\n\n${report(await shrink(run, runSeed))}`);
  process.exitCode = 1;
}

/** The first seed, and how many. */
function range(seeds: string, first: string): [from: number, count: number] {
  const [from = "", to] = seeds.split("..");
  if (to === undefined) return [whole("from", first), whole("seeds", seeds)];
  return [whole("seeds", from), whole("seeds", to) - whole("seeds", from) + 1];
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${option} is ${text}, expected a whole number`);
  return value;
}
