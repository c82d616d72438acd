/**
 * A worker that makes transfers. Jobs come on standard input, one JSON object a line:
 *
 *     {"id":"payout-17","transfer":{"src":8842,"dst":1190,"amount":2500}}
 *
 * Outcomes go to standard output, what needs a person to standard error. Stop it with SIGTERM or kill it, start it again,
 * and give it the same jobs: each is done once. Exits with 1 when a line was no job, or a transfer is left undone. With
 * `METRICS_PORT` it serves `/metrics` to Prometheus, for which examples/alerts/client.yml has alerts.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { serveMetrics } from "./metrics.js";
import { createWorkerSdk, type Transfer } from "./sdk.js";

interface Job {
  readonly id: string;
  readonly transfer: Transfer;
}

if (!process.env["API_URL"]) {
  console.error("API_URL is missing: say where the API is, for instance API_URL=http://127.0.0.1:3000");
  process.exit(1);
}

// May be called more than once for one transfer, so what it does must bear repetition.
const sdk = createWorkerSdk(({ intent, state, key }) => console.log(JSON.stringify({ id: intent, state, key })));

sdk.on("blocked", ({ intent, blockedBy }) => console.error(`${intent} is blocked: ${blockedBy}`));
sdk.on("unresolved", ({ intent, code }) => console.error(`${intent} has no known outcome: ${code}`));

const { METRICS_PORT } = process.env;
if (METRICS_PORT) console.error(`metrics are at ${await serveMetrics(Number(METRICS_PORT))}`);

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());

// Finishes what an earlier run left, and from now on whatever is recorded.
sdk.start();

let number = 0;
for await (const line of createInterface({ input: process.stdin, signal: stop.signal })) {
  // Lines that have arrived still come after the stop.
  if (stop.signal.aborted) break;
  number++;
  if (line.trim() === "") continue;
  try {
    const { id, transfer }: Job = JSON.parse(line);
    // Once it is recorded it will be done, whatever becomes of this process: a queue would be told so now.
    const { state } = await sdk.operation("transfer", transfer, { intent: id }).save();
    if (state !== "pending") console.error(`${id} was recorded before, and is ${state}`);
  } catch (error) {
    console.error(`line ${number} was not recorded: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

// No more jobs, or told to stop: then what is still open is left for the next run.
const report = await sdk.resume({ wait: "10m", signal: stop.signal });
console.error("resumed:", JSON.stringify(report));
if (report.remaining > 0 && !stop.signal.aborted) process.exitCode = 1;

// The report tells of the last minutes. What was blocked or given up before that, in whatever run, needs someone too.
for await (const { id, intent, state, resolution } of sdk.list({ states: ["blocked", "unresolved"] })) {
  if (resolution) continue;
  console.error(`${intent} is left ${state}: see sdk.get(${JSON.stringify(id)})`);
  process.exitCode = 1;
}
await sdk.close();
