import type { AttemptEnd } from "../client/telemetry.js";
import { type OperationRecord, sourceOf } from "../core/record.js";
import { SamekeyError } from "../errors.js";
import type { OpenTelemetryAttributes } from "./api.js";

/**
 * What is told of an attempt as it begins: the stable conventions for spans of HTTP clients,
 * https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span. Of the URL neither user, query nor fragment:
 * they are where secrets are.
 */
export function ofAttempt({ name, id, attempts, request }: OperationRecord): OpenTelemetryAttributes {
  const { origin, pathname, hostname, port, protocol } = new URL(request.url);
  return {
    "http.request.method": request.method,
    "url.full": origin + pathname,
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
    ...(attempts > 1 && { "http.request.resend_count": attempts - 1 }),
    "samekey.operation": name,
    "samekey.id": id,
  };
}

/** And as it ends. */
export function ofAttemptEnd({ status, verdict, replayed }: AttemptEnd): OpenTelemetryAttributes {
  return {
    ...(status !== undefined && { "http.response.status_code": status }),
    "samekey.verdict": verdict,
    ...(replayed && { "samekey.replayed": true }),
  };
}

/** Why it counts as failed, as those conventions have it: by its status, or by what came in between. */
export function failureOfAttempt({ status, verdict, cause }: AttemptEnd): string | undefined {
  if (status !== undefined && status >= 400) return String(status);
  if (cause !== undefined) return cause;
  return status === undefined && verdict !== "not_sent" ? verdict : undefined;
}

/** Where an operation stands when a call ends. */
export function ofRecord(record: OperationRecord): OpenTelemetryAttributes {
  const { name, id, state, code, attempts } = record;
  return {
    "samekey.operation": name,
    "samekey.id": id,
    "samekey.state": state,
    ...(code !== undefined && { "samekey.code": code }),
    "samekey.attempts": attempts,
    "samekey.source": sourceOf(record),
  };
}

/** Why a `send` counts as failed. What its program withdrew is no failure. */
export function failureOfSend({ state, code, blockedBy }: OperationRecord): string | undefined {
  return state === "succeeded" || state === "canceled" ? undefined : (code ?? blockedBy ?? state);
}

/** What may be told of an error: its code or its name; its message may quote what is secret. */
export function typeOf(error: unknown): string {
  if (error instanceof SamekeyError) return error.code;
  return error instanceof Error && /^[A-Za-z]{1,40}$/.test(error.name) ? error.name : "_OTHER";
}
