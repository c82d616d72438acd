/**
 * Metrics of the server half, for Prometheus or OpenTelemetry. Neither is imported: `prom-client` is passed in,
 * `@opentelemetry/api` is loaded where it is installed.
 */
export type { MetricLabels, Metrics, WatchOptions } from "./metrics/instruments.js";
export {
  type OpenTelemetryCallback,
  type OpenTelemetryInstrument,
  type OpenTelemetryMeter,
  openTelemetryMetrics,
} from "./metrics/opentelemetry.js";
export {
  type PrometheusClient,
  type PrometheusInstrument,
  type PrometheusOptions,
  prometheusMetrics,
} from "./metrics/prometheus.js";
export type { RetentionSource } from "./metrics/retention.js";
export type { ServerEvent, ServerEventKind } from "./observe.js";
export type { RetentionStatus } from "./retention/status.js";
