import type { ObservedSdk, Observer } from "../client/telemetry.js";
import { type OperationRecord, sourceOf } from "../core/record.js";
import type { Backend, Sample } from "../metrics/backend.js";
import { bounded } from "../metrics/bounded.js";
import { Reading } from "../metrics/reading.js";
import { type Standing, standingOf } from "./standing.js";
import { countingFailures } from "./store-failures.js";

/** From an answer out of the next room to the longest `attemptTimeout` that is usual, s. */
const ofAttempts = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** From there to a server that was away for a day, s. */
const ofOperations = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 21_600, 86_400];

const maxOperations = 200;

const operations = {
  name: "operations",
  unit: "{operation}",
  help: "Operations that are pending, blocked, or unresolved with nobody having decided on them",
  labels: ["sdk", "state"],
};
const oldest = {
  name: "operation.oldest_pending",
  prometheus: "oldest_pending",
  unit: "s",
  help: "How long ago the oldest pending operation was recorded; 0 where there is none",
  labels: ["sdk"],
};
const attempts = {
  name: "attempts",
  unit: "{attempt}",
  help: "Attempts that ended, by what their end means",
  labels: ["operation", "verdict"],
};
const settled = {
  name: "settled",
  unit: "{operation}",
  help: "Operations that came to their end, by how, and by where the outcome is from",
  labels: ["operation", "state", "source"],
};
const attemptDuration = {
  name: "attempt.duration",
  unit: "s",
  help: "Time from the beginning of an attempt that was sent to its end",
  labels: ["operation"],
};
const operationDuration = {
  name: "operation.duration",
  unit: "s",
  help: "Time from an operation's recording to its end",
  labels: ["operation"],
};
const failures = {
  name: "store.failures",
  unit: "{failure}",
  help: "Times that the store failed; that it is full by `maxPending` is none",
  labels: [],
};

/** What an attempt's end can mean. */
const verdicts = "succeeded refused misused blocked retry key_expired unresolved unsent not_sent".split(" ");
/** How an operation can end, and by what. */
const ends = Object.entries({
  succeeded: ["executed", "replayed", "none"],
  rejected: ["executed", "replayed", "none"],
  misused: ["executed", "replayed"],
  expired: ["none"],
  canceled: ["none"],
  discarded: ["none"],
}).flatMap(([state, sources]) => sources.map((source) => ({ state, source })));

const open = ["pending", "blocked", "unresolved"] as const;

/** The instruments, whatever library counts: answers with what joins an Sdk to them. */
export function clientMetrics(backend: Backend): (sdk: ObservedSdk) => Observer {
  const countAttempt = backend.counter(attempts);
  const countSettled = backend.counter(settled);
  const countFailure = backend.counter(failures);
  const timeAttempt = backend.histogram(attemptDuration, ofAttempts);
  const timeOperation = backend.histogram(operationDuration, ofOperations);
  const named = bounded(maxOperations);
  countFailure({}, 0);

  const joined = new Map<Reading<Standing>, string>();
  const samples = (of: (standing: Standing, sdk: string) => readonly Sample[]): Promise<readonly Sample[]> =>
    Promise.all(
      [...joined].map(async ([reading, sdk]) => {
        const standing = await reading.read();
        return standing ? of(standing, sdk) : [];
      }),
    ).then((found) => found.flat());
  backend.gauge(operations, () =>
    samples((standing, sdk) => open.map((state) => ({ labels: { sdk, state }, value: standing[state] }))),
  );
  backend.gauge(oldest, () => samples(({ oldestPending }, sdk) => [{ labels: { sdk }, value: oldestPending / 1000 }]));

  const ended = (record: OperationRecord): void => {
    const operation = named(record.name);
    const state = record.resolution?.how === "discarded" ? "discarded" : record.state;
    countSettled({ operation, state, source: sourceOf(record) }, 1);
    timeOperation({ operation }, Math.max(0, (record.settledAt ?? record.createdAt) - record.createdAt) / 1000);
  };

  return (sdk) => {
    const reading = new Reading(async () => standingOf(await sdk.store(), sdk.clock.now()));
    joined.set(reading, sdk.name);
    // A rate misses the first of what appears out of nothing.
    for (const operation of sdk.operations.map(named)) {
      for (const verdict of verdicts) countAttempt({ operation, verdict }, 0);
      for (const end of ends) countSettled({ operation, ...end }, 0);
    }
    const stop = sdk.on("settled", ended);
    return {
      onAttempt: ({ record }) => ({
        end: ({ verdict, ms }) => {
          const operation = named(record.name);
          countAttempt({ operation, verdict }, 1);
          if (verdict !== "unsent" && verdict !== "not_sent") timeAttempt({ operation }, Math.max(0, ms) / 1000);
        },
      }),
      onStore: (store) => countingFailures(store, () => countFailure({}, 1)),
      onClose: () => {
        stop();
        joined.delete(reading);
      },
    };
  };
}
