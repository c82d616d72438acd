import type { CallOptions, Outcome, Snapshot } from "../index.js";

/** Options of `useOperation`. */
export interface UseOperationOptions {
  /** Names what is being done, as in a call. What is recorded under it is shown, wherever it was begun. */
  readonly intent?: string | undefined;
}

/** The arguments of `send` where the hook was given the intent: the body, unless it may be absent, and options. */
export type BoundArguments<Body> = undefined extends Body
  ? [body?: Body, options?: CallOptions]
  : [body: Body, options?: CallOptions];

/** What `useOperation` answers with: frozen, and the same object until something changes. */
export interface OperationState<Call extends readonly unknown[], Result, Failure> extends Snapshot<Result, Failure> {
  /** The result, once it has succeeded. */
  readonly data: Result | undefined;
  /** Why there is no result, or why nobody waits for one any more; also where nothing could be recorded. */
  readonly error: Extract<Outcome<Result, Failure>, { readonly error: unknown }>["error"] | undefined;
  /**
   * Records and sends. The promise never rejects; when the component is unmounted it resolves as `pending`, and the operation
   * goes on. The same function as long as sdk, name and intent are the same.
   */
  readonly send: (...call: Call) => Promise<Outcome<Result, Failure>>;
}
