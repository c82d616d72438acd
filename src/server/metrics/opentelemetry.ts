import { type OpenTelemetryMeter, openTelemetryBackend } from "../../metrics/opentelemetry.js";
import { createMetrics, type Metrics } from "./instruments.js";

/**
 * Counts with OpenTelemetry, as `samekey.…`; an exporter for Prometheus makes of it the names that
 * {@link prometheusMetrics} gives. Where `@opentelemetry/api` is not installed, nothing is counted.
 *
 * @param meter - @defaultValue the meter `samekey` of the global provider
 */
export async function openTelemetryMetrics(meter?: OpenTelemetryMeter): Promise<Metrics> {
  const used = meter ?? (await globalMeter());
  if (used === undefined) return { observe: () => {}, watch: () => {} };
  return createMetrics(openTelemetryBackend(used));
}

async function globalMeter(): Promise<OpenTelemetryMeter | undefined> {
  try {
    const { metrics } = await import("@opentelemetry/api");
    return metrics.getMeter("samekey");
  } catch {
    return undefined;
  }
}
