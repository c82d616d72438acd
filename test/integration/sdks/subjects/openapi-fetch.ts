import createClient from "openapi-fetch";
import type { Subject } from "./subject.js";

interface Payment {
  readonly amount: number;
  readonly to: string;
}

/** As `openapi-typescript` writes it. */
export interface paths {
  "/accounts/{id}/payments": {
    post: {
      parameters: { path: { id: string }; header: { "Idempotency-Key": string } };
      requestBody: { content: { "application/json": Payment } };
      responses: {
        201: { content: { "application/json": { id: string } } };
        402: { content: { "application/json": { error: string } } };
      };
    };
  };
}

export const openapiFetch: Subject = {
  options: (url) => ({ only: `${url}/accounts` }),
  pay: async (fetch, url) => {
    const api = createClient<paths>({ baseUrl: url, fetch });
    const { data, error } = await api.POST("/accounts/{id}/payments", {
      params: { path: { id: "7" }, header: { "Idempotency-Key": "order-1" } },
      body: { amount: 5, to: "ä" },
    });
    return data ?? error;
  },
};
