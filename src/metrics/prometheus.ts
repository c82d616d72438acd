import type { Backend, Definition, MetricLabels } from "./backend.js";

/** The part of `prom-client` that is used: pass the module. `R` is its `Registry`. */
export interface PrometheusClient<R = unknown> {
  readonly Counter: new (config: PrometheusInstrument<R>) => { inc(labels: MetricLabels, value: number): void };
  readonly Histogram: new (
    config: PrometheusInstrument<R> & { readonly buckets: number[] },
  ) => { observe(labels: MetricLabels, value: number): void };
  readonly Gauge: new (
    config: PrometheusInstrument<R> & { readonly collect: () => Promise<void> },
  ) => { set(labels: MetricLabels, value: number): void; reset(): void };
}

/** What `prom-client` makes an instrument from. */
export interface PrometheusInstrument<R = unknown> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers?: R[];
}

/** Options of `prometheusMetrics` and `prometheus`. */
export interface PrometheusOptions<R = unknown> {
  /** @defaultValue prom-client's own register */
  readonly registry?: R | undefined;
}

/** Instruments of `prom-client`, as `samekey_…`. */
export function prometheusBackend<R>(client: PrometheusClient<R>, { registry }: PrometheusOptions<R>): Backend {
  const config = (definition: Definition, suffix = ""): PrometheusInstrument<R> => ({
    name: `samekey_${(definition.prometheus ?? definition.name).replaceAll(".", "_")}${definition.unit === "s" ? "_seconds" : ""}${suffix}`,
    help: definition.help,
    labelNames: [...definition.labels],
    ...(registry !== undefined && { registers: [registry] }),
  });
  return {
    counter: (definition) => {
      const counter = new client.Counter(config(definition, "_total"));
      return (labels, value) => counter.inc(labels, value);
    },
    histogram: (definition, buckets) => {
      const histogram = new client.Histogram({ ...config(definition), buckets: [...buckets] });
      return (labels, value) => histogram.observe(labels, value);
    },
    gauge: (definition, read) => {
      const collect = async (): Promise<void> => {
        const samples = await read();
        // What could not be read is left out: the last value would pass for the present one.
        gauge.reset();
        for (const { labels, value } of samples) gauge.set(labels, value);
      };
      const gauge = new client.Gauge({ ...config(definition), collect });
    },
  };
}
