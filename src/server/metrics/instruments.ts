import type { Backend, Sample } from "../../metrics/backend.js";
import { bounded } from "../../metrics/bounded.js";
import { Reading } from "../../metrics/reading.js";
import type { ServerEvent } from "../observe.js";
import type { RetentionStatus } from "../retention/status.js";
import type { RetentionSource } from "./retention.js";

/** What {@link prometheusMetrics} and {@link openTelemetryMetrics} give. */
export interface Metrics {
  /** For the `observe` option of `createIdempotency`. One may serve any number of engines. */
  readonly observe: (event: ServerEvent) => void;
  /** Shows how a database keeps what is promised: it is asked at each scrape, and a failure is shown, not thrown. */
  watch(source: RetentionSource, options?: WatchOptions): void;
}

/** Options of {@link Metrics.watch}. */
export interface WatchOptions {
  /** Tells databases apart, as the label `shard`. @defaultValue "" */
  readonly shard?: string | undefined;
}

/** From a replay out of memory to a handler at its deadline, s. */
export const buckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

const maxScopes = 50;

const labels = ["scope", "outcome"];
const requests = { name: "requests", unit: "{request}", help: "Requests answered, by outcome", labels };
const duration = { name: "request.duration", unit: "s", help: "Time to answer a request, by outcome", labels };
const handler = {
  name: "handler.duration",
  unit: "s",
  help: "Time that handlers took of it, in all their attempts",
  labels: ["scope"],
};
const retries = {
  name: "handler.retries",
  unit: "{retry}",
  help: "Times that a handler was run again because its transaction could not be committed",
  labels: ["scope"],
};

type Gauge = readonly [name: string, unit: string, help: string, value: (status: RetentionStatus) => number];
const gauges: readonly Gauge[] = [
  ["retention.promised", "s", "How long keys are promised to be known", ({ promised }) => promised / 1000],
  ["retention.kept", "s", "How far back keys are known", ({ kept }) => kept / 1000],
  [
    "retention.shortfall",
    "s",
    "By how much keys are forgotten sooner than promised",
    ({ promised, kept }) => Math.max(0, promised - kept) / 1000,
  ],
  ["retention.lag", "s", "How long the oldest keys have been due to be dropped", ({ lag }) => lag / 1000],
  ["partitions.ahead", "{partition}", "Partitions that are ready for days to come", ({ ahead }) => ahead],
];
const up = { name: "retention.up", unit: "", help: "Whether the database could be asked: 1 or 0", labels: ["shard"] };

/** The instruments, whatever library counts. */
export function createMetrics(backend: Backend): Metrics {
  const count = backend.counter(requests);
  const time = backend.histogram(duration, buckets);
  const timeHandler = backend.histogram(handler, buckets);
  const countRetries = backend.counter(retries);

  const watched: { readonly shard: string; readonly reading: Reading<RetentionStatus> }[] = [];
  const samples = (value: (status: RetentionStatus | undefined) => number | undefined): Promise<readonly Sample[]> =>
    Promise.all(
      watched.map(async ({ shard, reading }) => {
        const known = value(await reading.read());
        return known === undefined ? [] : [{ labels: { shard }, value: known }];
      }),
    ).then((found) => found.flat());
  for (const [name, unit, help, value] of gauges) {
    backend.gauge({ name, unit, help, labels: ["shard"] }, () => samples((status) => status && value(status)));
  }
  backend.gauge(up, () => samples((status) => (status ? 1 : 0)));

  const scopes = bounded(maxScopes);
  return {
    observe: ({ kind, scope: given, duration, handlerDuration, attempts }) => {
      const scope = scopes(given);
      count({ scope, outcome: kind }, 1);
      time({ scope, outcome: kind }, duration / 1000);
      if (handlerDuration !== undefined) timeHandler({ scope }, handlerDuration / 1000);
      if (attempts > 1) countRetries({ scope }, attempts - 1);
    },
    watch: (source, { shard = "" } = {}) => {
      watched.push({ shard, reading: new Reading(async () => source.retentionStatus()) });
    },
  };
}
