/**
 * What CORS must allow and expose for samekey's client in a browser, in the words of the packages `cors` and
 * `@fastify/cors`. Add the headers of your own.
 *
 * ```ts
 * app.use(cors({ origin, exposedHeaders: [...corsHeaders.exposedHeaders], allowedHeaders: [...corsHeaders.allowedHeaders, "authorization"] }));
 * ```
 */
export const corsHeaders: {
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
} = {
  allowedHeaders: ["content-type", "idempotency-key", "samekey-owner"],
  exposedHeaders: ["date", "idempotency-body", "idempotency-replayed", "idempotency-status", "retry-after"],
};
