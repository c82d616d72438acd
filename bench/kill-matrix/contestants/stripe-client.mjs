import Stripe from "stripe";

/** The official client, pointed at a loopback server that speaks Stripe's contract. */
export function client(port) {
  return new Stripe("sk_test_matrix", {
    host: "127.0.0.1",
    port,
    protocol: "http",
    maxNetworkRetries: 5,
    telemetry: false,
  });
}

/** What is paid for. */
export const intent = (order) => ({ amount: 2500, currency: "eur", metadata: { order } });
