import type { OperationDefinition, OperationOptions } from "./types.js";

/**
 * Declares operations of one HTTP method.
 *
 * The types come from what is written there, never from the place it is written to: in `operations` anything fits.
 */
export interface Define {
  <Body = undefined, Result = unknown, Failure = unknown>(
    path: string | ((body: Body) => string),
    options: OperationOptions<Body, Result, Failure> & { readonly intent: "required" },
  ): OperationDefinition<NoInfer<Body>, NoInfer<Result>, NoInfer<Failure>, "required">;
  <Body = undefined, Result = unknown, Failure = unknown>(
    path: string | ((body: Body) => string),
    options?: OperationOptions<Body, Result, Failure>,
  ): OperationDefinition<NoInfer<Body>, NoInfer<Result>, NoInfer<Failure>, "optional">;
}

function define(method: OperationDefinition["method"]): Define {
  return ((path: string | ((body: never) => string), options: OperationOptions<never, unknown, unknown> = {}) =>
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
