import type { AttemptObserver, CallObserver, ObservedAttempt, ObservedCall, Observer } from "../client/telemetry.js";
import type { OperationRecord } from "../core/record.js";
import { CanceledError } from "../errors.js";
import type { OpenTelemetryApi, OpenTelemetryLink, OpenTelemetrySpan, OpenTelemetryTracer } from "./api.js";
import { failureOfAttempt, failureOfSend, ofAttempt, ofAttemptEnd, ofRecord, typeOf } from "./attributes.js";
import type { Propagates } from "./propagation.js";
import { readTraceparent, writeTraceparent } from "./traceparent.js";

// Values of its enumerations, which stand in its specification: of SpanKind (the default is INTERNAL) and SpanStatusCode.
const CLIENT = 2;
const ERROR = 2;

/** The span of one call. */
class Call<C> implements CallObserver {
  readonly context: C;
  readonly traceparent: string | undefined;
  readonly #call: ObservedCall;
  readonly #span: OpenTelemetrySpan;
  isOver = false;

  constructor(call: ObservedCall, span: OpenTelemetrySpan, context: C) {
    this.context = context;
    this.traceparent = writeTraceparent(span.spanContext());
    this.#call = call;
    this.#span = span;
  }

  end(record: OperationRecord | undefined, error: unknown): void {
    this.isOver = true;
    const { kind, operation } = this.#call;
    if (record) {
      this.#span.setAttributes(ofRecord(record));
      if (operation === undefined) this.#span.updateName(`${kind} ${record.name}`);
      // An earlier call recorded it.
      for (const link of linksTo(record, this.traceparent)) this.#span.addLink(link);
    }
    if (error !== undefined) fail(this.#span, error instanceof CanceledError ? undefined : typeOf(error));
    else if (record && kind === "send") fail(this.#span, failureOfSend(record));
    this.#span.end();
  }
}

/** A span for each call of the program's and for each attempt. */
export class Spans<C> implements Observer {
  readonly #api: OpenTelemetryApi<C>;
  readonly #tracer: OpenTelemetryTracer<C>;
  readonly #sdk: string;
  readonly #propagates: Propagates;

  constructor(api: OpenTelemetryApi<C>, sdk: string, propagates: Propagates) {
    this.#api = api;
    this.#tracer = api.trace.getTracer("samekey");
    this.#sdk = sdk;
    this.#propagates = propagates;
  }

  onCall(call: ObservedCall): CallObserver {
    const { kind, operation } = call;
    const attributes = { "samekey.sdk": this.#sdk, ...(operation !== undefined && { "samekey.operation": operation }) };
    const parent = this.#api.context.active();
    const span = this.#tracer.startSpan(
      operation === undefined ? kind : `${kind} ${operation}`,
      { attributes },
      parent,
    );
    return new Call(call, span, this.#api.trace.setSpan(parent, span));
  }

  onAttempt({ record, call, isBase }: ObservedAttempt): AttemptObserver {
    const { context, propagation, trace, ROOT_CONTEXT } = this.#api;
    const waiting = call instanceof Call && !call.isOver ? (call as Call<C>) : undefined;
    // Where nobody waits, whatever is active here is somebody else's.
    const parent = waiting?.context ?? ROOT_CONTEXT;
    const options = {
      kind: CLIENT,
      links: linksTo(record, waiting?.traceparent),
      attributes: { "samekey.sdk": this.#sdk, ...ofAttempt(record) },
    };
    const span = this.#tracer.startSpan(record.request.method, options, parent);
    const within = trace.setSpan(parent, span);
    const headers: Record<string, string> = {};
    if (this.#propagates(record.origin, isBase)) propagation.inject(within, headers);
    return {
      headers,
      run: (work) => context.with(within, work),
      end: (ended) => {
        span.setAttributes(ofAttemptEnd(ended));
        fail(span, failureOfAttempt(ended));
        span.end();
      },
    };
  }
}

function fail(span: OpenTelemetrySpan, type: string | undefined): void {
  if (type === undefined) return;
  span.setAttributes({ "error.type": type });
  span.setStatus({ code: ERROR });
}

/** To the call that recorded it, unless it is the one meant. */
function linksTo({ traceparent }: OperationRecord, own: string | undefined): OpenTelemetryLink[] {
  const context = traceparent === undefined || traceparent === own ? undefined : readTraceparent(traceparent);
  return context ? [{ context }] : [];
}
