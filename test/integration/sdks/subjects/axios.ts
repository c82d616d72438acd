import axiosDefault, { type AxiosInstance, type CreateAxiosDefaults } from "axios";
import type { Subject } from "./subject.js";

export const axios: Subject = {
  options: (url) => ({ only: `${url}/payments` }),
  pay: async (fetch, url) => {
    const headers = { "Idempotency-Key": "order-1" };
    return (await axiosOver(fetch, url).post("/payments", { amount: 5, to: "ä" }, { headers })).data;
  },
};

/** As a program makes it. */
export function axiosOver(fetch: typeof globalThis.fetch, url: string, more: CreateAxiosDefaults = {}): AxiosInstance {
  return axiosDefault.create({ baseURL: url, adapter: "fetch", env: { fetch }, ...more });
}
