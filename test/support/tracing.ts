/** OpenTelemetry as a program sets it up, with a context manager and a W3C propagator of the least kind. */

import { AsyncLocalStorage } from "node:async_hooks";
import * as api from "@opentelemetry/api";
import {
  BasicTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";

const storage = new AsyncLocalStorage<api.Context>();

const contexts: api.ContextManager = {
  active: () => storage.getStore() ?? api.ROOT_CONTEXT,
  with: (context, work, self, ...args) => storage.run(context, () => work.call(self as never, ...args)),
  bind: (_, target) => target,
  enable: () => contexts,
  disable: () => contexts,
};

const propagator: api.TextMapPropagator = {
  inject(context, carrier, setter) {
    const span = api.trace.getSpanContext(context);
    if (span) setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-0${span.traceFlags}`);
  },
  extract: (context) => context,
  fields: () => ["traceparent"],
};

/** Registers everything; what it answers takes it away again. */
export function startTracing(exporter: SpanExporter): () => void {
  api.context.setGlobalContextManager(contexts);
  api.propagation.setGlobalPropagator(propagator);
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  return () => {
    api.trace.disable();
    api.propagation.disable();
    api.context.disable();
  };
}

/** A span as the tests compare it: its place, and what is told of it. */
export interface Told {
  readonly name: string;
  readonly kind: keyof typeof api.SpanKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: string | undefined;
  readonly links: readonly string[];
  readonly status: keyof typeof api.SpanStatusCode;
  readonly attributes: api.Attributes;
  readonly events: number;
  readonly message: string | undefined;
}

export function told(span: ReadableSpan): Told {
  const { name, kind, status, attributes, parentSpanContext, links, events } = span;
  const { traceId, spanId } = span.spanContext();
  return {
    name,
    kind: api.SpanKind[kind] as keyof typeof api.SpanKind,
    traceId,
    spanId,
    parent: parentSpanContext?.spanId,
    links: links.map(({ context }) => `${context.traceId}-${context.spanId}`),
    status: api.SpanStatusCode[status.code] as keyof typeof api.SpanStatusCode,
    attributes,
    events: events.length,
    message: status.message,
  };
}
