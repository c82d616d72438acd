import kyDefault from "ky";
import type { Subject } from "./subject.js";

export const ky: Subject = {
  options: (url) => ({ only: `${url}/payments` }),
  pay: (fetch, url) => {
    const api = kyDefault.create({ prefixUrl: url, fetch, retry: 0, timeout: false });
    return api.post("payments", { json: { amount: 5, to: "ä" }, intent: "order-1" } as object).json();
  },
};
