/**
 * Traces and metrics of the client, by OpenTelemetry or prom-client. Neither is imported: pass it in, and what these answer
 * with to `createSdk({ telemetry })`.
 */
export type { MetricLabels } from "./metrics/backend.js";
export type { OpenTelemetryCallback, OpenTelemetryInstrument, OpenTelemetryMeter } from "./metrics/opentelemetry.js";
export type { PrometheusClient, PrometheusInstrument, PrometheusOptions } from "./metrics/prometheus.js";
export type {
  OpenTelemetryApi,
  OpenTelemetryAttributes,
  OpenTelemetryLink,
  OpenTelemetrySpan,
  OpenTelemetrySpanContext,
  OpenTelemetrySpanOptions,
  OpenTelemetryTracer,
} from "./telemetry/api.js";
export { type OpenTelemetryOptions, openTelemetry } from "./telemetry/opentelemetry.js";
export { prometheus } from "./telemetry/prometheus.js";
