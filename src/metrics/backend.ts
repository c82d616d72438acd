/** What a value belongs to, by the names of its labels. */
export type MetricLabels = Readonly<Record<string, string>>;

/** What every backend makes an instrument from. Names are OpenTelemetry's, below `samekey.`; times are seconds. */
export interface Definition {
  readonly name: string;
  /** Its name for Prometheus, where that is another. */
  readonly prometheus?: string;
  /** `s`, or what is counted: `{request}`. */
  readonly unit: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** One value of a gauge. */
export interface Sample {
  readonly labels: MetricLabels;
  readonly value: number;
}

/** What a library of metrics is asked for. */
export interface Backend {
  counter(definition: Definition): (labels: MetricLabels, value: number) => void;
  histogram(definition: Definition, buckets: readonly number[]): (labels: MetricLabels, value: number) => void;
  gauge(definition: Definition, read: () => Promise<readonly Sample[]>): void;
}
