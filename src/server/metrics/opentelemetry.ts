import { type Backend, createMetrics, type Definition, type MetricLabels, type Metrics } from "./instruments.js";

/** The part of an OpenTelemetry `Meter` that is used. */
export interface OpenTelemetryMeter {
  createCounter(name: string, options: OpenTelemetryInstrument): { add(value: number, attributes: MetricLabels): void };
  createHistogram(
    name: string,
    options: OpenTelemetryInstrument & { readonly advice: { readonly explicitBucketBoundaries: number[] } },
  ): { record(value: number, attributes: MetricLabels): void };
  createObservableGauge(
    name: string,
    options: OpenTelemetryInstrument,
  ): { addCallback(callback: OpenTelemetryCallback): void };
}

/** What an OpenTelemetry `Meter` makes an instrument from. */
export interface OpenTelemetryInstrument {
  readonly description: string;
  readonly unit: string;
}

/** What an observable gauge asks for its values. */
export type OpenTelemetryCallback = (result: {
  observe(value: number, attributes: MetricLabels): void;
}) => Promise<void>;

/**
 * Counts with OpenTelemetry, as `samekey.…`; an exporter for Prometheus makes of it the names that
 * {@link prometheusMetrics} gives. Where `@opentelemetry/api` is not installed, nothing is counted.
 *
 * @param meter - @defaultValue the meter `samekey` of the global provider
 */
export async function openTelemetryMetrics(meter?: OpenTelemetryMeter): Promise<Metrics> {
  const used = meter ?? (await globalMeter());
  if (used === undefined) return { observe: () => {}, watch: () => {} };
  const options = ({ help, unit }: Definition): OpenTelemetryInstrument => ({ description: help, unit });
  const backend: Backend = {
    counter: (definition) => {
      const counter = used.createCounter(`samekey.${definition.name}`, options(definition));
      return (labels, value) => counter.add(value, labels);
    },
    histogram: (definition, buckets) => {
      const advice = { explicitBucketBoundaries: [...buckets] };
      const histogram = used.createHistogram(`samekey.${definition.name}`, { ...options(definition), advice });
      return (labels, value) => histogram.record(value, labels);
    },
    gauge: (definition, read) => {
      const gauge = used.createObservableGauge(`samekey.${definition.name}`, options(definition));
      gauge.addCallback(async (result) => {
        for (const { labels, value } of await read()) result.observe(value, labels);
      });
    },
  };
  return createMetrics(backend);
}

async function globalMeter(): Promise<OpenTelemetryMeter | undefined> {
  try {
    const { metrics } = await import("@opentelemetry/api");
    return metrics.getMeter("samekey");
  } catch {
    return undefined;
  }
}
