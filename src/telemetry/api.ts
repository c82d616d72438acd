/** The part of `@opentelemetry/api` that is used, by its shape: programs without it need none of its types. */

import { bad } from "../core/checks.js";
import type { OpenTelemetryMeter } from "../metrics/opentelemetry.js";

/** The module `@opentelemetry/api`: `import * as api from "@opentelemetry/api"`. `C` is its `Context`. */
export interface OpenTelemetryApi<C = unknown> {
  readonly ROOT_CONTEXT: C;
  readonly context: {
    active(): C;
    with<T>(context: C, work: () => T): T;
  };
  readonly propagation: { inject(context: C, carrier: Record<string, string>): void };
  readonly trace: {
    getTracer(name: string): OpenTelemetryTracer<C>;
    // biome-ignore lint/suspicious/noExplicitAny: its own Span, which asks for more than is used here
    setSpan(context: C, span: any): C;
  };
  readonly metrics: { getMeter(name: string): OpenTelemetryMeter };
}

/** An OpenTelemetry `Tracer`. */
export interface OpenTelemetryTracer<C = unknown> {
  startSpan(name: string, options: OpenTelemetrySpanOptions, context: C): OpenTelemetrySpan;
}

/** What an OpenTelemetry `Tracer` begins a span with. */
export interface OpenTelemetrySpanOptions {
  /** A `SpanKind`. */
  readonly kind?: number;
  readonly links?: OpenTelemetryLink[];
  readonly attributes: OpenTelemetryAttributes;
}

/** What an OpenTelemetry span is told of itself. */
export type OpenTelemetryAttributes = Record<string, string | number | boolean>;

/** Where a span stands. */
export interface OpenTelemetrySpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

/** A link from a span to another. */
export interface OpenTelemetryLink {
  readonly context: OpenTelemetrySpanContext;
}

/** An OpenTelemetry `Span`. */
export interface OpenTelemetrySpan {
  spanContext(): OpenTelemetrySpanContext;
  setAttributes(attributes: OpenTelemetryAttributes): unknown;
  setStatus(status: { readonly code: number }): unknown;
  updateName(name: string): unknown;
  addLink(link: OpenTelemetryLink): unknown;
  end(): void;
}

/** Members that only the whole module has: what it exports as its default lacks the last, where a bundler reads its ES modules. */
const used = [
  "trace.getTracer",
  "trace.setSpan",
  "metrics.getMeter",
  "context.with",
  "propagation.inject",
  "ROOT_CONTEXT",
];

/** @throws MisuseError `bad_option` where it is something else */
export function checkApi(api: unknown): void {
  for (const path of used) {
    const found = path
      .split(".")
      .reduce<unknown>((of, name) => (of as Record<string, unknown> | undefined)?.[name], api);
    if (found === undefined) {
      bad(
        `\`openTelemetry\` takes the module @opentelemetry/api, and this has no \`${path}\`: ` +
          'import * as api from "@opentelemetry/api"',
      );
    }
  }
}
