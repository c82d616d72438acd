import process from "node:process";
import { fileURLToPath } from "node:url";
import { LiveLine, table } from "../../examples/demo/screen.js";
import { commandLine } from "../../scripts/command-line.mjs";
import { type Row, rowsOf } from "./report.js";
import { resumed } from "./resumed.js";
import { soak } from "./soak.js";

const usage = `npm run soak -- [options]

Operations through several processes on one SQLite file, while requests and answers are lost, the server refuses and stalls,
and workers are killed. Fails unless every operation happened exactly once, and memory and file stay as they are. Then a
million pending are resumed, as \`npm run bench -- resume\` does it.

  --operations 100000   2000 are enough for a look
  --processes 4
  --seed 1              others for other accidents
  --no-resume           without the million`;

const { values } = commandLine(usage, {
  options: {
    operations: { type: "string", default: "100000" },
    processes: { type: "string", default: "4" },
    seed: { type: "string", default: "1" },
    resume: { type: "boolean", default: true },
  },
  allowNegative: true,
});
const root = process.cwd();
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const stopped = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stopped.abort(new Error(`stopped by ${signal}`)));
}

async function main(): Promise<boolean> {
  const [operations, processes] = [wholeNumber("operations"), wholeNumber("processes")];
  const line = new LiveLine(20);
  const startedAt = performance.now();
  const report = await soak({
    programs: { worker: program("worker.js"), server: program("server.js") },
    operations,
    processes,
    seed: wholeNumber("seed"),
    onProgress: (settled, kills) => {
      const rate = (settled * 1_000) / (performance.now() - startedAt);
      line.update(settled / operations, `${settled} of ${operations} settled · ${rate.toFixed(0)}/s · ${kills} kills`);
    },
    signal: stopped.signal,
  });
  line.end();
  const kept = show(rowsOf(report));
  return values.resume ? show(resumed(root)) && kept : kept;
}

function wholeNumber(name: "operations" | "processes" | "seed"): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1`);
  return value;
}

function show(rows: readonly Row[]): boolean {
  const verdict = ({ met }: Row): string => (met === undefined ? "" : met ? "  ok" : "  BROKEN");
  console.log(`\n${table(rows.map((row) => [row.name, `${row.value}${verdict(row)}`]))}\n`);
  return rows.every(({ met }) => met !== false);
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(stopped.signal.aborted ? stopped.signal.reason.message : error);
  process.exitCode = 1;
}
