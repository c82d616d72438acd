/**
 * Metrics of the server half, for Prometheus or OpenTelemetry. Neither is imported: `prom-client` is passed in,
 * `@opentelemetry/api` is loaded where it is installed.
 */
export type { MetricLabels } from "../metrics/backend.js";
export type {
  OpenTelemetryCallback,
  OpenTelemetryInstrument,
  OpenTelemetryMeter,
} from "../metrics/opentelemetry.js";
export type { PrometheusClient, PrometheusInstrument, PrometheusOptions } from "../metrics/prometheus.js";
export type { Metrics, WatchOptions } from "./metrics/instruments.js";
export { openTelemetryMetrics } from "./metrics/opentelemetry.js";
export { prometheusMetrics } from "./metrics/prometheus.js";
export type { RetentionSource } from "./metrics/retention.js";
export type { ServerEvent, ServerEventKind } from "./observe.js";
export type { RetentionStatus } from "./retention/status.js";
