import * as profiles from "samekey/profiles";
import Stripe from "stripe";
import type { Subject } from "./subject.js";

const secret = "sk_test_1";

export const stripe: Subject = {
  options: (url) => ({
    profile: profiles.stripe,
    baseUrl: url,
    headers: () => ({ authorization: `Bearer ${secret}` }),
  }),
  pay: async (fetch, url) => {
    const { id } = await stripeOver(fetch, url).paymentIntents.create(
      { amount: 500, currency: "eur", metadata: { to: "ä" } },
      { idempotencyKey: "order-1" },
    );
    return { id };
  },
};

/** The SDK as a program makes it, but for the address. */
export function stripeOver(fetch: typeof globalThis.fetch, url: string, more: Stripe.StripeConfig = {}): Stripe {
  const { hostname: host, port } = new URL(url);
  return new Stripe(secret, { httpClient: Stripe.createFetchHttpClient(fetch), host, port, protocol: "http", ...more });
}
