import type { Telemetry } from "../client/telemetry.js";
import { bad } from "../core/checks.js";
import { type PrometheusClient, type PrometheusOptions, prometheusBackend } from "../metrics/prometheus.js";
import { clientMetrics } from "./instruments.js";

/**
 * Counts with `prom-client`, as `samekey_…`. One serves any number of Sdks.
 *
 * ```ts
 * import client from "prom-client";
 *
 * const sdk = createSdk({ …, telemetry: prometheus(client) });
 * ```
 *
 * @throws MisuseError `bad_option` where it is not `prom-client`
 * @throws whatever prom-client throws where the registry has these metrics already
 */
export function prometheus<R>(client: PrometheusClient<R>, options: PrometheusOptions<R> = {}): Telemetry {
  for (const name of ["Counter", "Gauge", "Histogram"] as const) {
    if (typeof client?.[name] !== "function") {
      bad(`\`prometheus\` takes prom-client, and this has no \`${name}\`: import client from "prom-client"`);
    }
  }
  return { join: clientMetrics(prometheusBackend(client, options)) };
}
