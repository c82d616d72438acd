import type { OperationDefinition, OperationOptions } from "./types.js";

type Path<Body> = string | ((body: Body) => string);
type Required<Body, Result, Failure> = OperationOptions<Body, Result, Failure> & { readonly intent: "required" };

/** Declares operations of one HTTP method. */
export interface Define {
  <Body = undefined, Result = unknown, Failure = unknown>(
    path: Path<Body>,
    options: Required<Body, Result, Failure>,
  ): OperationDefinition<Body, Result, Failure, "required">;
  <Body = undefined, Result = unknown, Failure = unknown>(
    path: Path<Body>,
    options?: OperationOptions<Body, Result, Failure>,
  ): OperationDefinition<Body, Result, Failure, "optional">;
}

function define(method: OperationDefinition["method"]): Define {
  return ((path: Path<never>, options: OperationOptions<never, unknown, unknown> = {}) =>
    Object.freeze({ method, path, options: Object.freeze({ ...options }) })) as unknown as Define;
}

/**
 * Declares a POST.
 *
 * @example
 * ```ts
 * const transfer = post<Transfer, Receipt>("/transfers");
 * const refund = post<Refund, Receipt>((body) => `/payments/${body.payment}/refunds`);
 * ```
 */
export const post: Define = define("POST");
/** Declares a PUT. */
export const put: Define = define("PUT");
/** Declares a PATCH. */
export const patch: Define = define("PATCH");
/** Declares a DELETE. */
export const del: Define = define("DELETE");
