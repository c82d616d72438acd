/**
 * A worker that makes transfers. Jobs come on standard input, one JSON object a line:
 *
 *     {"id":"payout-17","transfer":{"src":8842,"dst":1190,"amount":2500}}
 *
 * Outcomes go to standard output. Stop it with SIGTERM or kill it, start it again, and give it the same jobs: each is
 * done once.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { createWorkerSdk, type Transfer } from "./sdk.js";

interface Job {
  readonly id: string;
  readonly transfer: Transfer;
}

// May be called more than once for one transfer, so what it does must bear repetition.
const sdk = createWorkerSdk(({ intent, state, key }) => console.log(JSON.stringify({ id: intent, state, key })));

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());

// Finishes what an earlier run left, and from now on whatever is recorded.
sdk.start();

for await (const line of createInterface({ input: process.stdin, signal: stop.signal })) {
  const { id, transfer }: Job = JSON.parse(line);
  // Once it is recorded it will be done, whatever becomes of this process: a queue would be told so now.
  await sdk.operation("transfer", transfer, { intent: id }).save();
}

// No more jobs, or told to stop: then what is still open is left for the next run.
await sdk.resume({ wait: "10m", signal: stop.signal });
await sdk.close();
