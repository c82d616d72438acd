import type { IncomingHttpHeaders } from "node:http";
import { fingerprint } from "../fingerprint.js";
import type { RunRequest } from "../run-options.js";

/** What a request of Node's asks for, in the engine's terms. */
export function runRequest(
  tenant: string,
  scope: string,
  request: { readonly method: string; readonly originalUrl: string; readonly headers: IncomingHttpHeaders },
  body: Uint8Array,
): RunRequest {
  const { method, originalUrl: target, headers } = request;
  return {
    tenant,
    scope,
    key: headers["idempotency-key"],
    fingerprint: fingerprint({ method, target, contentType: headers["content-type"], body }),
  };
}
