import type { Observer, Telemetry } from "../client/telemetry.js";
import { bad, checkOptions } from "../core/checks.js";
import { openTelemetryBackend } from "../metrics/opentelemetry.js";
import { checkApi, type OpenTelemetryApi } from "./api.js";
import { clientMetrics } from "./instruments.js";
import { propagates } from "./propagation.js";
import { Spans } from "./spans.js";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Whether there are spans, and `traceparent` on requests. @defaultValue true */
  readonly traces?: boolean | undefined;
  /** Whether there are metrics. @defaultValue true */
  readonly metrics?: boolean | undefined;
  /**
   * The origins whose requests carry what the global propagator writes (`traceparent`); `[]` for none.
   *
   * @defaultValue `baseUrl`'s own; in a page only where it is the page's as well
   */
  readonly propagateTo?: readonly string[] | undefined;
}

/**
 * Spans and metrics by OpenTelemetry, through the global providers: register them before `createSdk`. One serves any number
 * of Sdks.
 *
 * ```ts
 * import * as api from "@opentelemetry/api";
 *
 * const sdk = createSdk({ …, telemetry: openTelemetry(api) });
 * ```
 *
 * @throws MisuseError `bad_option` where it is not that module, or an option is wrong
 */
export function openTelemetry<C>(api: OpenTelemetryApi<C>, options: OpenTelemetryOptions = {}): Telemetry {
  checkApi(api);
  checkOptions(options, "traces metrics propagateTo", "openTelemetry");
  const { traces = true, metrics = true, propagateTo } = options;
  for (const [name, value] of Object.entries({ traces, metrics })) {
    if (typeof value !== "boolean") bad(`\`${name}\` is not true or false`);
  }
  const goesTo = propagates(propagateTo);
  let counting: ReturnType<typeof clientMetrics> | undefined;
  return {
    join(sdk) {
      // Not before: a meter asked for before its provider is there counts nothing, for ever.
      if (metrics) counting ??= clientMetrics(openTelemetryBackend(api.metrics.getMeter("samekey"), "samekey."));
      const counts = counting?.(sdk);
      return traces ? both(new Spans(api, sdk.name, goesTo), counts) : (counts ?? {});
    },
  };
}

function both(spans: Spans<unknown>, counts: Observer | undefined): Observer {
  return {
    ...counts,
    onCall: (call) => spans.onCall(call),
    onAttempt: (attempt) => {
      const traced = spans.onAttempt(attempt);
      const counted = counts?.onAttempt?.(attempt);
      return {
        ...traced,
        end: (ended) => {
          try {
            counted?.end(ended);
          } finally {
            traced.end(ended);
          }
        },
      };
    },
  };
}
