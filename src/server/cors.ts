/**
 * What CORS must allow and expose for samekey's client in a browser, in the words of the packages `cors` and
 * `@fastify/cors`. Add the headers of your own.
 *
 * ```ts
 * const { allowedHeaders, exposedHeaders } = corsHeaders;
 * app.use(cors({ origin, exposedHeaders, allowedHeaders: [...allowedHeaders, "authorization"] }));
 * ```
 */
export const corsHeaders: { readonly allowedHeaders: string[]; readonly exposedHeaders: string[] } = {
  allowedHeaders: ["content-type", "idempotency-key", "samekey-owner"],
  exposedHeaders: ["date", "idempotency-body", "idempotency-replayed", "idempotency-status", "retry-after"],
};
// Typed as those packages want it, and shared by all who import it.
for (const names of Object.values(corsHeaders)) Object.freeze(names);
