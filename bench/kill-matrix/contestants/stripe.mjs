// stripe with its own retries: it adds one key to a call and its retries.
import { client, intent } from "./stripe-client.mjs";
import { told } from "./told.mjs";

export function open({ port }) {
  const calls = told();
  const stripe = client(port);
  return {
    submit: (order) => calls.follow(order, stripe.paymentIntents.create(intent(order))),
    status: async (order) => calls.status(order),
  };
}
