import { createFetch } from "ofetch";
import type { Subject } from "./subject.js";

export const ofetch: Subject = {
  options: (url) => ({ only: `${url}/payments` }),
  pay: (fetch, url) => {
    const api = createFetch({ fetch, defaults: { baseURL: url, retry: false } });
    return api("/payments", { method: "POST", body: { amount: 5, to: "ä" }, intent: "order-1" } as object);
  },
};
