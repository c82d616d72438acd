import type { Backend, Definition, MetricLabels } from "./backend.js";

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
 * Instruments of a meter, as `samekey.…`.
 *
 * @param prefix - of the names of attributes
 */
export function openTelemetryBackend(meter: OpenTelemetryMeter, prefix = ""): Backend {
  const attributes = (labels: MetricLabels): MetricLabels =>
    prefix === ""
      ? labels
      : Object.fromEntries(Object.entries(labels).map(([name, value]) => [`${prefix}${name}`, value]));
  const options = ({ help, unit }: Definition): OpenTelemetryInstrument => ({ description: help, unit });
  return {
    counter: (definition) => {
      const counter = meter.createCounter(`samekey.${definition.name}`, options(definition));
      return (labels, value) => counter.add(value, attributes(labels));
    },
    histogram: (definition, buckets) => {
      const advice = { explicitBucketBoundaries: [...buckets] };
      const histogram = meter.createHistogram(`samekey.${definition.name}`, { ...options(definition), advice });
      return (labels, value) => histogram.record(value, attributes(labels));
    },
    gauge: (definition, read) => {
      const gauge = meter.createObservableGauge(`samekey.${definition.name}`, options(definition));
      gauge.addCallback(async (result) => {
        for (const { labels, value } of await read()) result.observe(value, attributes(labels));
      });
    },
  };
}
