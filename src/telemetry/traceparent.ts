import type { OpenTelemetrySpanContext } from "./api.js";

const form = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** As W3C Trace Context writes it (https://www.w3.org/TR/trace-context/#traceparent-header); undefined for no place at all. */
export function writeTraceparent({ traceId, spanId, traceFlags }: OpenTelemetrySpanContext): string | undefined {
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  return form.test(traceparent) ? traceparent : undefined;
}

/** The place that it names; undefined where it names none. */
export function readTraceparent(traceparent: string): OpenTelemetrySpanContext | undefined {
  const [, traceId, spanId, flags] = form.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
