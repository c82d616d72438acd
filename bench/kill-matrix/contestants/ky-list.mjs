import ky, { HTTPError } from "ky";
import { kept } from "./kept.mjs";
import { retry } from "./ky-settings.mjs";

/** ky with a list of what is to be sent, as a careful user would write it by hand. */
export function kyWith(storage, window) {
  return kept({
    storage,
    window,
    send: ({ order, key }) =>
      ky.post("/transfers", { json: { order }, headers: { "idempotency-key": key }, retry }).json(),
    isRefusal: (error) => error instanceof HTTPError && !retry.statusCodes.includes(error.response.status),
  });
}
