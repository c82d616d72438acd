// stripe with a key made from the order and a list on disk, as a careful user would write it by hand.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import Stripe from "stripe";
import { kept } from "./kept.mjs";
import { client, intent } from "./stripe-client.mjs";

/** One file per order, synced and renamed into its place. */
function files(directory) {
  const home = join(directory, "orders");
  mkdirSync(home, { recursive: true });
  const read = (name) => JSON.parse(readFileSync(join(home, name), "utf8"));
  const nameOf = (order) => `${encodeURIComponent(order)}.json`;
  return {
    get: (order) => (existsSync(join(home, nameOf(order))) ? read(nameOf(order)) : undefined),
    put(entry) {
      const draft = join(home, `${nameOf(entry.order)}.${process.pid}`);
      const file = openSync(draft, "w");
      writeSync(file, JSON.stringify(entry));
      fsyncSync(file);
      closeSync(file);
      renameSync(draft, join(home, nameOf(entry.order)));
    },
    all: () => readdirSync(home).filter((name) => name.endsWith(".json")).map(read), // biome-ignore format: one thought
  };
}

export function open({ directory, port, window }) {
  const stripe = client(port);
  const { StripeConnectionError, StripeAPIError, StripeRateLimitError } = Stripe.errors;
  return kept({
    storage: files(directory),
    window,
    send: ({ order, key }) => stripe.paymentIntents.create(intent(order), { idempotencyKey: key }),
    isRefusal: (error) =>
      ![StripeConnectionError, StripeAPIError, StripeRateLimitError].some((type) => error instanceof type) &&
      error.statusCode !== 409,
  });
}
