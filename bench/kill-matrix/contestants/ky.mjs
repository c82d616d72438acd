// ky as most use it: one key for a click and its retries, in memory.
import ky from "ky";
import { retry } from "./ky-settings.mjs";
import { told } from "./told.mjs";

export function open() {
  const calls = told();
  return {
    submit(order) {
      const headers = { "idempotency-key": crypto.randomUUID() };
      calls.follow(order, ky.post("/transfers", { json: { order }, headers, retry }).json());
    },
    status: async (order) => calls.status(order),
  };
}
