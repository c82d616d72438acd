import { type PrometheusClient, type PrometheusOptions, prometheusBackend } from "../../metrics/prometheus.js";
import { createMetrics, type Metrics } from "./instruments.js";

/**
 * Counts with `prom-client`, as `samekey_…`.
 *
 * ```ts
 * import client from "prom-client";
 *
 * const metrics = prometheusMetrics(client);
 * const idempotency = createIdempotency({ db, retention: "24h", observe: metrics.observe });
 * metrics.watch(idempotency);
 * ```
 *
 * @throws whatever prom-client throws where the registry has these metrics already
 */
export function prometheusMetrics<R>(client: PrometheusClient<R>, options: PrometheusOptions<R> = {}): Metrics {
  return createMetrics(prometheusBackend(client, options));
}
