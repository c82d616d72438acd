import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { Router } from "../trpc-router.js";
import type { Subject } from "./subject.js";

export const trpc: Subject = {
  options: (url) => ({ only: `${url}/trpc` }),
  pay: (fetch, url) => {
    const headers = { "idempotency-key": "order-1" };
    const api = createTRPCClient<Router>({ links: [httpBatchLink({ url: `${url}/trpc`, fetch, headers })] });
    return api.pay.mutate({ order: "1", amount: 5 });
  },
};
